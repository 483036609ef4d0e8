//! Lengths of attribute values, and the few values that the scan reads.
use gimli::{DwForm, Encoding, Reader as _, constants as dw};

use super::die::Reader;

/// Most forms that name another form in a row. More is damage.
const INDIRECT_MAX: u32 = 4;

/// Length in bytes of a value of this form, or `None` if the value tells.
pub(super) fn fixed_size(form: DwForm, encoding: Encoding) -> Option<u8> {
    Some(match form {
        dw::DW_FORM_implicit_const | dw::DW_FORM_flag_present => 0,
        dw::DW_FORM_data1
        | dw::DW_FORM_flag
        | dw::DW_FORM_ref1
        | dw::DW_FORM_strx1
        | dw::DW_FORM_addrx1 => 1,
        dw::DW_FORM_data2 | dw::DW_FORM_ref2 | dw::DW_FORM_strx2 | dw::DW_FORM_addrx2 => 2,
        dw::DW_FORM_strx3 | dw::DW_FORM_addrx3 => 3,
        dw::DW_FORM_data4
        | dw::DW_FORM_ref4
        | dw::DW_FORM_ref_sup4
        | dw::DW_FORM_strx4
        | dw::DW_FORM_addrx4 => 4,
        dw::DW_FORM_data8 | dw::DW_FORM_ref8 | dw::DW_FORM_ref_sig8 | dw::DW_FORM_ref_sup8 => 8,
        dw::DW_FORM_data16 => 16,
        dw::DW_FORM_addr => encoding.address_size,
        dw::DW_FORM_sec_offset
        | dw::DW_FORM_strp
        | dw::DW_FORM_line_strp
        | dw::DW_FORM_strp_sup
        | dw::DW_FORM_GNU_strp_alt
        | dw::DW_FORM_GNU_ref_alt => encoding.format.word_size(),
        // In DWARF 2 it has the size of an address.
        dw::DW_FORM_ref_addr if encoding.version == 2 => encoding.address_size,
        dw::DW_FORM_ref_addr => encoding.format.word_size(),
        _ => return None,
    })
}

/// Skips a value.
pub(super) fn skip_value(
    input: &mut Reader<'_>,
    form: DwForm,
    encoding: Encoding,
) -> gimli::Result<()> {
    let form = resolve_form(input, form)?;
    if let Some(size) = fixed_size(form, encoding) {
        return input.skip(usize::from(size));
    }
    let length = match form {
        dw::DW_FORM_block1 => usize::from(input.read_u8()?),
        dw::DW_FORM_block2 => usize::from(input.read_u16()?),
        dw::DW_FORM_block4 => input.read_u32()? as usize,
        dw::DW_FORM_block | dw::DW_FORM_exprloc => input.read_uleb128_u32()? as usize,
        dw::DW_FORM_string => return input.read_null_terminated_slice().map(drop),
        dw::DW_FORM_sdata
        | dw::DW_FORM_udata
        | dw::DW_FORM_ref_udata
        | dw::DW_FORM_strx
        | dw::DW_FORM_addrx
        | dw::DW_FORM_loclistx
        | dw::DW_FORM_rnglistx
        | dw::DW_FORM_GNU_addr_index
        | dw::DW_FORM_GNU_str_index => return input.skip_leb128(),
        unknown => return Err(gimli::Error::UnknownForm(unknown)),
    };
    input.skip(length)
}

/// Reads an unsigned number: a constant, an index, an offset or a reference. `None` for other
/// forms, whose value is skipped.
#[inline]
pub(super) fn read_number(
    input: &mut Reader<'_>,
    form: DwForm,
    implicit: i64,
    encoding: Encoding,
) -> gimli::Result<Option<u64>> {
    Ok(Some(match form {
        dw::DW_FORM_data1 | dw::DW_FORM_ref1 => u64::from(input.read_u8()?),
        dw::DW_FORM_data2 | dw::DW_FORM_ref2 => u64::from(input.read_u16()?),
        dw::DW_FORM_data4 | dw::DW_FORM_ref4 => u64::from(input.read_u32()?),
        dw::DW_FORM_strp | dw::DW_FORM_line_strp => input.read_word(encoding.format)? as u64,
        dw::DW_FORM_implicit_const => implicit.cast_unsigned(),
        dw::DW_FORM_flag_present => 1,
        _ => return read_rare_number(input, form, encoding),
    }))
}

fn read_rare_number(
    input: &mut Reader<'_>,
    form: DwForm,
    encoding: Encoding,
) -> gimli::Result<Option<u64>> {
    let form = resolve_form(input, form)?;
    Ok(Some(match form {
        dw::DW_FORM_sdata => input.read_sleb128()?.cast_unsigned(),
        dw::DW_FORM_udata
        | dw::DW_FORM_ref_udata
        | dw::DW_FORM_strx
        | dw::DW_FORM_GNU_str_index => input.read_uleb128()?,
        dw::DW_FORM_flag_present => 1,
        _ => match fixed_size(form, encoding) {
            Some(size @ 1..=8) => input.read_uint(usize::from(size))?,
            _ => {
                skip_value(input, form, encoding)?;
                return Ok(None);
            }
        },
    }))
}

/// Form itself, or the form that the value begins with.
#[inline]
pub(super) fn resolve_form(input: &mut Reader<'_>, form: DwForm) -> gimli::Result<DwForm> {
    if form == dw::DW_FORM_indirect {
        read_indirect_form(input)
    } else {
        Ok(form)
    }
}

fn read_indirect_form(input: &mut Reader<'_>) -> gimli::Result<DwForm> {
    for _ in 0..INDIRECT_MAX {
        let form = DwForm(input.read_uleb128_u16()?);
        if form != dw::DW_FORM_indirect {
            return Ok(form);
        }
    }
    Err(gimli::Error::UnknownForm(dw::DW_FORM_indirect))
}
