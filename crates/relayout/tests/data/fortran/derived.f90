! Derived types with all kinds of members. `derived.o` is made of it by gfortran 12 on x86-64:
!   gfortran -g -c derived.f90
! Sizes and offsets in the test are those that the program prints with storage_size() and loc().
subroutine derived
  use iso_c_binding
  type :: pt
    integer(1) :: a
    real(8) :: x
    character(len=5) :: name
    logical :: flag
    complex(8) :: z
    real, allocatable :: arr(:)
    real, pointer :: q(:,:)
    integer :: fixed(3,4)
    integer :: shifted(-1:1)
    character(len=:), allocatable :: s
  end type
  type, bind(c) :: cc
    integer(c_int8_t) :: a
    integer(c_int64_t) :: b
  end type
  type(pt) :: v
  type(cc) :: c
  v%a = 1
  c%b = 3
  print *, v%a, c%b
end subroutine
