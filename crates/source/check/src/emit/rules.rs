//! What each rule asserts, as C.

use super::EmitForm;
use super::expression::{CDialect, CMember, MemberExtent};
use crate::{LayoutRule, RuleId};

/// Alignments up to this come from scalars, and so from the target; larger ones were written.
const SCALAR_ALIGN_MAX: u64 = 16;

/// A condition that must hold, and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayoutClaim {
    /// Of which rule it is.
    pub rule: RuleId,
    /// An expression, in parts between which a line can end; operators end a part.
    pub condition: Vec<String>,
    /// What must hold, in words.
    pub says: String,
    /// Paths of the members that it is about; empty: the type.
    pub members: Vec<String>,
    /// What else must be so for it to hold.
    pub depends: ClaimDependence,
}

/// What a claim depends on, besides where members lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimDependence {
    /// On nothing.
    Nothing,
    /// On the target: it holds a number of bytes.
    Target,
    /// On the size of a line.
    Line,
}

/// The claims of a rule about a type, with the members that each of its patterns matches.
pub fn claims_of_rule(
    dialect: &CDialect<'_>,
    rule: &LayoutRule,
    members: &[Vec<CMember>],
) -> Vec<LayoutClaim> {
    let claims = ClaimBuilder {
        dialect,
        rule: rule.id(),
    };
    let operands: Vec<&CMember> = members.iter().flatten().collect();
    match rule {
        LayoutRule::SizeMax(bytes) => {
            let condition = format!("{} <= {bytes}", dialect.size_of_type());
            let says = format!("must have at most {bytes} bytes");
            vec![claims.claim(&[], vec![condition], says, ClaimDependence::Target)]
        }
        LayoutRule::Size(bytes) => {
            let condition = format!("{} == {bytes}", dialect.size_of_type());
            let says = format!("must have {bytes} bytes");
            vec![claims.claim(&[], vec![condition], says, ClaimDependence::Target)]
        }
        LayoutRule::Align(bytes) => vec![claims.alignment(*bytes)],
        LayoutRule::At { offset, .. } => operands.iter().map(|m| claims.at(m, *offset)).collect(),
        LayoutRule::Aligned { bytes, .. } => {
            let offsets = operands.iter().map(|m| claims.aligned(m, *bytes));
            offsets.chain([claims.alignment(*bytes)]).collect()
        }
        LayoutRule::SameLine(_) => claims.same_line(&operands),
        LayoutRule::WithinLine(_) => claims.within_line(&operands),
        LayoutRule::DifferentLines(_) => claims.apart(members, LineUnit::Line),
        LayoutRule::DifferentPairs(_) => claims.apart(members, LineUnit::Pair),
        LayoutRule::NoStraddle(_) => operands
            .iter()
            .filter_map(|m| claims.no_straddle(m))
            .collect(),
        LayoutRule::AsRecorded(_) => Vec::new(),
    }
}

/// Lines, or aligned pairs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineUnit {
    /// 64 bytes, mostly.
    Line,
    /// Twice that.
    Pair,
}

/// Makes the claims of one rule.
#[derive(Clone, Copy, Debug)]
pub struct ClaimBuilder<'d> {
    /// How to ask about the type.
    pub dialect: &'d CDialect<'d>,
    /// The rule.
    pub rule: RuleId,
}

impl ClaimBuilder<'_> {
    /// The member's offset.
    pub fn at(&self, member: &CMember, offset: u64) -> LayoutClaim {
        let condition = format!("{} == {offset}", self.dialect.offset(member));
        let says = format!("{} must be at offset {offset}", member.path);
        self.claim(&[member], vec![condition], says, ClaimDependence::Target)
    }

    /// The first bytes of all lie on one line.
    pub fn same_line(&self, members: &[&CMember]) -> Vec<LayoutClaim> {
        let Some((first, others)) = members.split_first() else {
            return Vec::new();
        };
        let same = |other: &&CMember| {
            let says = format!(
                "{} and {} must begin on one cache line",
                first.path, other.path
            );
            let line = |member| self.dialect.first_line(member);
            self.equal(&[first, other], line(first), line(other), says)
        };
        others.iter().map(same).collect()
    }

    /// No line (or pair) holds bytes of both.
    fn different(&self, a: &CMember, b: &CMember, unit: LineUnit) -> LayoutClaim {
        let dialect = self.dialect;
        let first = |member| match unit {
            LineUnit::Line => dialect.first_line(member),
            LineUnit::Pair => dialect.first_pair(member),
        };
        let last = |member| match unit {
            LineUnit::Line => dialect.last_line(member),
            LineUnit::Pair => dialect.last_pair(member),
        };
        let name = match unit {
            LineUnit::Line => "cache lines",
            LineUnit::Pair => "pairs of cache lines",
        };
        let says = format!("{} and {} must lie on different {name}", a.path, b.path);
        let condition = if a.is_aligned_scalar && b.is_aligned_scalar {
            vec![format!("{} !=", first(a)), first(b)]
        } else {
            vec![
                format!("{} <", last(a)),
                format!("{} ||", first(b)),
                format!("{} <", last(b)),
                first(a),
            ]
        };
        self.claim(&[a, b], condition, says, ClaimDependence::Line)
    }

    fn apart(&self, groups: &[Vec<CMember>], unit: LineUnit) -> Vec<LayoutClaim> {
        let mut claims = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            for b in groups[index + 1..].iter().flatten() {
                claims.extend(group.iter().map(|a| self.different(a, b, unit)));
            }
        }
        claims
    }

    /// Their first bytes lie on different lines.
    pub fn begin_apart(&self, a: &CMember, b: &CMember) -> LayoutClaim {
        let says = format!(
            "{} and {} must begin on different cache lines",
            a.path, b.path
        );
        let condition = vec![
            format!("{} !=", self.dialect.first_line(a)),
            self.dialect.first_line(b),
        ];
        self.claim(&[a, b], condition, says, ClaimDependence::Line)
    }

    /// The member's bytes all lie on one line, unless there are more of them than a line has.
    pub fn whole_if_it_fits(&self, member: &CMember) -> LayoutClaim {
        let (size, line) = (self.dialect.size(member), self.dialect.line_bytes_text());
        let mut claim = self.whole(member);
        claim.condition.insert(0, format!("{size} > {line} ||"));
        claim
    }

    /// The member's bytes all lie on one line.
    fn whole(&self, member: &CMember) -> LayoutClaim {
        let says = format!("{} must lie within one cache line", member.path);
        let (first, last) = (
            self.dialect.first_line(member),
            self.dialect.last_line(member),
        );
        self.equal(&[member], first, last, says)
    }

    fn within_line(&self, members: &[&CMember]) -> Vec<LayoutClaim> {
        let Some((first, others)) = members.split_first() else {
            return Vec::new();
        };
        let dialect = self.dialect;
        let begin = dialect.first_line(first);
        let mut claims = vec![self.whole(first)];
        for other in others {
            let says = || {
                let (a, b) = (&first.path, &other.path);
                format!("{a} and {b} must lie within one cache line")
            };
            let both = [*first, *other];
            claims.push(self.equal(&both, begin.clone(), dialect.first_line(other), says()));
            if !other.is_aligned_scalar {
                claims.push(self.equal(&both, begin.clone(), dialect.last_line(other), says()));
            }
        }
        claims
    }

    /// Larger members, or the same in a configuration that makes it larger, may take as many lines as
    /// their size needs.
    fn no_straddle(&self, member: &CMember) -> Option<LayoutClaim> {
        let dialect = self.dialect;
        let says = format!("{} must not straddle cache lines", member.path);
        if member.is_aligned_scalar {
            let (first, last) = (dialect.first_line(member), dialect.last_line(member));
            return Some(self.equal(&[member], first, last, says));
        }
        if member.extent == MemberExtent::Empty {
            return None;
        }
        let (offset, size, line) = (
            dialect.offset(member),
            dialect.size(member),
            dialect.line_bytes_text(),
        );
        let condition = match dialect.form {
            EmitForm::Kernel => vec![
                format!("DIV_ROUND_UP({offset} % {line} +"),
                format!("{size}, {line}) =="),
                format!("DIV_ROUND_UP({size}, {line})"),
            ],
            EmitForm::StaticAssert => {
                let less_one = dialect.line_bytes.saturating_sub(1);
                vec![
                    format!("({offset} % {line} +"),
                    format!("{size} + {less_one}) / {line} =="),
                    format!("({size} + {less_one}) / {line}"),
                ]
            }
        };
        Some(self.claim(&[member], condition, says, ClaimDependence::Line))
    }

    fn aligned(&self, member: &CMember, bytes: u64) -> LayoutClaim {
        let condition = format!("{} % {bytes} == 0", self.dialect.offset(member));
        let says = format!("{} must be aligned to {bytes} bytes", member.path);
        self.claim(
            &[member],
            vec![condition],
            says,
            alignment_dependence(bytes),
        )
    }

    fn alignment(&self, bytes: u64) -> LayoutClaim {
        let condition = format!("{} >= {bytes}", self.dialect.align_of_type());
        let says = format!("must be aligned to {bytes} bytes");
        self.claim(&[], vec![condition], says, alignment_dependence(bytes))
    }

    fn equal(&self, members: &[&CMember], a: String, b: String, says: String) -> LayoutClaim {
        self.claim(
            members,
            vec![format!("{a} =="), b],
            says,
            ClaimDependence::Line,
        )
    }

    fn claim(
        &self,
        members: &[&CMember],
        condition: Vec<String>,
        says: String,
        depends: ClaimDependence,
    ) -> LayoutClaim {
        LayoutClaim {
            rule: self.rule,
            condition,
            says,
            members: members.iter().map(|member| member.path.clone()).collect(),
            depends,
        }
    }
}

fn alignment_dependence(align_bytes: u64) -> ClaimDependence {
    match align_bytes {
        ..=SCALAR_ALIGN_MAX => ClaimDependence::Target,
        _ => ClaimDependence::Nothing,
    }
}
