//! Claims in C for each kind of rule.

use super::EmitForm;
use super::expression::{CDialect, CMember, MemberExtent};
use crate::{LayoutRule, RuleId};

/// Largest alignment in bytes that comes from a scalar and therefore from the target. The source
/// declares larger alignments.
const SCALAR_ALIGN_MAX: u64 = 16;

/// Condition that must hold, with a description.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayoutClaim {
    /// Rule that the claim comes from.
    pub rule: RuleId,
    /// C expression in parts. A line can end after each part, and an operator ends a part.
    pub condition: Vec<String>,
    /// Description of the condition in words.
    pub says: String,
    /// Paths of the members that the claim is about. An empty list means the type.
    pub members: Vec<String>,
    /// Property of the target that the claim depends on.
    pub depends: ClaimDependence,
}

/// Dependence of a claim on the target, beside the relative positions of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimDependence {
    /// No dependence.
    Nothing,
    /// Dependence on the target: the claim contains a number of bytes.
    Target,
    /// Dependence on the cache line size.
    Line,
}

/// Creates the claims of a rule about a type, from the members that match each pattern.
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

/// Unit of separation: a cache line or an aligned pair of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineUnit {
    /// One cache line, usually 64 bytes.
    Line,
    /// Aligned pair of cache lines, usually 128 bytes.
    Pair,
}

/// Builder of the claims of one rule.
#[derive(Clone, Copy, Debug)]
pub struct ClaimBuilder<'d> {
    /// Type name and parameters for expressions.
    pub dialect: &'d CDialect<'d>,
    /// Rule that the claims come from.
    pub rule: RuleId,
}

impl ClaimBuilder<'_> {
    /// Claims that the member has the given offset in bytes.
    pub fn at(&self, member: &CMember, offset: u64) -> LayoutClaim {
        let condition = format!("{} == {offset}", self.dialect.offset(member));
        let says = format!("{} must be at offset {offset}", member.path);
        self.claim(&[member], vec![condition], says, ClaimDependence::Target)
    }

    /// Claims that the first bytes of all members share a cache line.
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

    /// Claims that no line (or pair of lines) contains bytes of both members.
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

    /// Claims that the first bytes of the two members lie on different cache lines.
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

    /// Claims that all bytes of the member share a cache line, unless the member is larger than a
    /// line.
    pub fn whole_if_it_fits(&self, member: &CMember) -> LayoutClaim {
        let (size, line) = (self.dialect.size(member), self.dialect.line_bytes_text());
        let mut claim = self.whole(member);
        claim.condition.insert(0, format!("{size} > {line} ||"));
        claim
    }

    /// Claims that all bytes of the member share a cache line.
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

    /// Claims that the member touches no more cache lines than its size needs. A larger member, or
    /// a member that another configuration enlarges, may touch several lines.
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
