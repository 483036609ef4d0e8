//! Programs that write down their own objects, to measure an instruction's evidence and the final
//! resolution.
//!
//! A program of `programs/` writes down its objects as it makes them: address, type, and the
//! offsets of the members by the compiler (`offsetof`, or for bit fields the bytes that change).
//! Each access that was recorded, or seen by single steps, is looked up there. None of this comes
//! from debug information, and addresses of single steps come from the registers.

#![allow(dead_code, reason = "the test and the example each use a part")]

pub mod build;
pub mod score;
pub mod trace;

use std::collections::{BTreeMap, HashMap};
use std::error::Error;

pub type Failure = Box<dyn Error>;

/// Everything that one program wrote down.
#[derive(Debug, Default)]
pub struct Truth {
    /// Difference of the program's run-time and link-time addresses.
    pub bias: u64,
    members: HashMap<String, Vec<Member>>,
    objects: BTreeMap<u64, Object>,
}

#[derive(Debug)]
struct Member {
    name: String,
    offset: u64,
    bytes: u64,
    inner: Inner,
}

/// Type of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inner {
    /// Number or pointer.
    Plain,
    /// Member without a description.
    Opaque,
    /// One or more values of this type, of this many bytes each.
    Type(String, u64),
}

#[derive(Debug)]
struct Object {
    /// Bytes of all elements.
    bytes: u64,
    /// Bytes of one element.
    stride: u64,
    contents: TrueContents,
}

#[derive(Debug)]
enum TrueContents {
    Type(String),
    Variable(String),
}

/// True owner of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TruePlace {
    /// Variable that is no aggregate.
    Variable(String),
    /// Object.
    Object(Vec<MemberWay>),
}

/// Way from an object inwards. A union gives several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberWay {
    /// Types and their start addresses, from the outside.
    pub types: Vec<(String, u64)>,
    /// Names of members, from the outside.
    pub names: Vec<String>,
    /// First byte, and first byte after, of a member without further description.
    pub opaque: Option<(u64, u64)>,
}

/// Returns a type's name without keyword, scopes and parameters.
pub fn plain(name: &str) -> &str {
    let end = name.find('<').unwrap_or(name.len());
    let start = name[..end].rfind([' ', ':']).map_or(0, |at| at + 1);
    &name[start..end]
}

impl Truth {
    /// Parses the program's output.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let mut truth = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split('|').collect();
            let hex = |word: &str| u64::from_str_radix(word, 16);
            match words.as_slice() {
                ["image", bias] => truth.bias = hex(bias)?,
                ["member", ty, name, offset, bytes, inner, inner_bytes] => {
                    let inner = match *inner {
                        "" => Inner::Plain,
                        "?" => Inner::Opaque,
                        inner => Inner::Type(plain(inner).to_owned(), inner_bytes.parse()?),
                    };
                    let member = Member {
                        name: (*name).to_owned(),
                        offset: offset.parse()?,
                        bytes: bytes.parse()?,
                        inner,
                    };
                    truth
                        .members
                        .entry(plain(ty).to_owned())
                        .or_default()
                        .push(member);
                }
                ["object", start, count, bytes, ty] => {
                    let (count, stride): (u64, u64) = (count.parse()?, bytes.parse()?);
                    let object = Object {
                        bytes: count * stride,
                        stride,
                        contents: TrueContents::Type(plain(ty).to_owned()),
                    };
                    truth.objects.insert(hex(start)?, object);
                }
                ["scalar", start, bytes, name] => {
                    let bytes = bytes.parse()?;
                    let contents = TrueContents::Variable((*name).to_owned());
                    let object = Object {
                        bytes,
                        stride: bytes,
                        contents,
                    };
                    truth.objects.insert(hex(start)?, object);
                }
                _ => return Err(format!("the program wrote {line:?}").into()),
            }
        }
        Ok(truth)
    }

    /// Returns the owner of `addr`; `None` if the program described nothing there.
    pub fn place_at(&self, addr: u64) -> Option<TruePlace> {
        let (&start, object) = self.objects.range(..=addr).next_back()?;
        if addr - start >= object.bytes {
            return None;
        }
        match &object.contents {
            TrueContents::Variable(name) => Some(TruePlace::Variable(name.clone())),
            TrueContents::Type(ty) => {
                let base = addr - (addr - start) % object.stride;
                let mut ways = Vec::new();
                self.inwards(ty, base, addr, &MemberWay::default(), &mut ways);
                Some(TruePlace::Object(ways))
            }
        }
    }

    fn inwards(
        &self,
        ty: &str,
        base: u64,
        addr: u64,
        before: &MemberWay,
        ways: &mut Vec<MemberWay>,
    ) {
        let mut way = before.clone();
        way.types.push((ty.to_owned(), base));
        let members = self.members.get(ty).map_or(&[][..], Vec::as_slice);
        let holds = |m: &&Member| (m.offset..m.offset + m.bytes).contains(&(addr - base));
        let mut found = false;
        for member in members.iter().filter(holds) {
            found = true;
            let mut way = way.clone();
            way.names
                .extend(Some(member.name.clone()).filter(|name| !name.is_empty()));
            let start = base + member.offset;
            match &member.inner {
                Inner::Type(inner, bytes) => {
                    let inner_base = addr - (addr - start) % bytes.max(&1);
                    self.inwards(inner, inner_base, addr, &way, ways);
                }
                Inner::Opaque => {
                    way.opaque = Some((start, start + member.bytes));
                    ways.push(way);
                }
                Inner::Plain => ways.push(way),
            }
        }
        if !found {
            ways.push(way);
        }
    }
}
