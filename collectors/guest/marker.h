// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Instructions that tell the recorder where the window begins and ends.
//
// Each marker is an instruction without effect that no compiler emits, so the same binary runs
// unchanged on hardware and on a QEMU without the plugin. On x86-64 it is an 8-byte nop with the
// number as its displacement, on AArch64 a move to the zero register of 0x5200 plus its last byte:
//
//     0f 1f 84 00 imm32      nopl imm32(%rax,%rax,1)
//     d28a401f + n * 32      movz xzr, #(0x5200 + n)
#ifndef RELAYOUT_MARKER_H
#define RELAYOUT_MARKER_H

// The window opens: all workers exist, are pinned and wait.
#define MARKER_START 0x524c0001
// The window closes: all operations are done, nothing is torn down yet.
#define MARKER_STOP 0x524c0002
// One operation of the workload is finished.
#define MARKER_OPERATION 0x524c0003
// As START and STOP, around a program of the user's; they count only if it has no marker itself.
#define MARKER_START_DEFAULT 0x524c0004
#define MARKER_STOP_DEFAULT 0x524c0005
// The run has failed. A window that ends at its time stays open until the reason is on the console.
#define MARKER_FAILURE 0x524c0006

// Executes the marker `number`, which must be a constant.
#if defined(__aarch64__)
#define MARKER(number)                                                                             \
    __asm__ volatile("movz xzr, #(0x5200 + (%c0 & 0xff))" : : "i"(number) : "memory")
#else
#define MARKER(number)                                                                             \
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c0" : : "i"(number) : "memory")
#endif

#endif
