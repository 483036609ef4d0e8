/// Files as one input: each behind its length.
pub fn join(files: &[Vec<u8>]) -> Vec<u8> {
    let with_length = |file: &Vec<u8>| [&(file.len() as u32).to_le_bytes()[..], file].concat();
    files.iter().flat_map(with_length).collect()
}

/// The files of an input; what is not there is empty.
pub fn split<const COUNT: usize>(mut data: &[u8]) -> [Vec<u8>; COUNT] {
    let mut files = [const { Vec::new() }; COUNT];
    for file in &mut files {
        let Some((len, rest)) = data.split_first_chunk() else {
            break;
        };
        let len = (u32::from_le_bytes(*len) as usize).min(rest.len());
        *file = rest[..len].to_vec();
        data = &rest[len..];
    }
    files
}
