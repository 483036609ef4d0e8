//! Preprocessor conditions for the conditions of sections.

use super::EmitForm;
use crate::{
    CheckConfig, KconfigOption, LockRecord, MachineArchitecture, RuleSection, SectionCondition,
};

const AND: &str = " && ";
const OR: &str = " || ";

/// Condition under which the compiler sees the assertions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreprocessorGuard {
    /// `#if` expressions that must all hold. An empty list means always.
    All(Vec<String>),
    /// The preprocessor cannot express the condition; the text gives the reason.
    Unknown(String),
}

impl PreprocessorGuard {
    /// Guard of a section.
    pub fn from_section(config: &CheckConfig, section: &RuleSection, form: EmitForm) -> Self {
        let mut all = Vec::new();
        if !section.configurations.is_empty() {
            let mut any = Vec::new();
            for name in &section.configurations {
                match configuration_expression(config, name, form) {
                    Ok(expression) => any.push(expression),
                    Err(why) => return Self::Unknown(why),
                }
            }
            all.push(join_expressions(any, OR));
        }
        for name in &section.not_configurations {
            match configuration_expression(config, name, form) {
                Ok(expression) => all.push(negate(&expression)),
                Err(why) => return Self::Unknown(why),
            }
        }
        for condition in &section.conditions {
            match condition_expressions(condition, form) {
                Ok(expressions) => all.extend(expressions),
                Err(why) => return Self::Unknown(why),
            }
        }
        Self::All(all)
    }

    /// Guard for the configurations and the machine of a record.
    pub fn from_record(config: &CheckConfig, record: &LockRecord, form: EmitForm) -> Self {
        let mut all = Vec::new();
        if let Some(machine) = record.machine {
            all.push(format!("defined({})", machine_macro(machine, form)));
        }
        if let Some(bytes) = record.pointer_bytes {
            all.push(Self::pointer_condition(bytes, form));
        }
        for configuration in &config.configurations {
            let expression = match configuration_expression(config, &configuration.name, form) {
                Ok(expression) => expression,
                Err(why) => return Self::Unknown(why),
            };
            all.push(match record.configurations.contains(&configuration.name) {
                true => expression,
                false => negate(&expression),
            });
        }
        Self::All(all)
    }

    /// `#if` expression for the pointer size in bytes.
    pub fn pointer_condition(bytes: u64, form: EmitForm) -> String {
        match form {
            EmitForm::StaticAssert => format!("__SIZEOF_POINTER__ == {bytes}"),
            EmitForm::Kernel => format!("BITS_PER_LONG == {}", bytes.saturating_mul(8)),
        }
    }
}

/// Expression for a configuration. A configuration without conditions needs a macro that the build
/// defines.
fn configuration_expression(
    config: &CheckConfig,
    name: &str,
    form: EmitForm,
) -> Result<String, String> {
    let found = config
        .configurations
        .iter()
        .find(|configuration| configuration.name == name);
    let conditions = found
        .map(|configuration| configuration.conditions.as_slice())
        .unwrap_or_default();
    if conditions.is_empty() {
        return Ok(format!("defined({})", configuration_macro(name)));
    }
    let mut all = Vec::new();
    for condition in conditions {
        let expressions = condition_expressions(condition, form);
        all.extend(expressions.map_err(|why| format!("configuration `{name}`: {why}"))?);
    }
    Ok(join_expressions(all, AND))
}

/// Name of the macro that a build defines to select a configuration without conditions.
pub fn configuration_macro(configuration: &str) -> String {
    let letters = configuration.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
        _ => '_',
    });
    format!("RELAYOUT_CONFIGURATION_{}", letters.collect::<String>())
}

fn condition_expressions(
    condition: &SectionCondition,
    form: EmitForm,
) -> Result<Vec<String>, String> {
    let single = |expression: String| Ok(vec![expression]);
    match condition {
        SectionCondition::Files(_) => Err("C cannot ask for the file's name (`files`)".to_owned()),
        SectionCondition::BuildId(_) => {
            Err("C cannot ask for the build id (`build_id`)".to_owned())
        }
        SectionCondition::Has(_) => Err("C cannot ask what a type has (`has`)".to_owned()),
        SectionCondition::PointerBytes(bytes) => {
            single(PreprocessorGuard::pointer_condition(*bytes, form))
        }
        SectionCondition::LittleEndian(little) => {
            let order = if *little { "LITTLE" } else { "BIG" };
            single(format!("__BYTE_ORDER__ == __ORDER_{order}_ENDIAN__"))
        }
        SectionCondition::Machine(machines) => {
            let names = machines.iter().map(|machine| machine_macro(*machine, form));
            let any = names.map(|name| format!("defined({name})")).collect();
            single(join_expressions(any, OR))
        }
        SectionCondition::Kconfig(options) => options.iter().map(kconfig_expression).collect(),
    }
}

fn kconfig_expression(option: &KconfigOption) -> Result<String, String> {
    let name = &option.option;
    match option.value.as_str() {
        "y" => Ok(format!("defined({name})")),
        "m" => Ok(format!("defined({name}_MODULE)")),
        "n" => Ok(format!("!(defined({name}) || defined({name}_MODULE))")),
        value if is_integer(value) => Ok(format!("defined({name}) && {name} == {value}")),
        value => Err(format!(
            "the preprocessor cannot compare texts (`{name}={value}`)"
        )),
    }
}

fn is_integer(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()),
    }
}

/// Macro that the compiler or the kernel's configuration defines for the machine.
fn machine_macro(machine: MachineArchitecture, form: EmitForm) -> &'static str {
    match form {
        EmitForm::StaticAssert => machine.compiler_macro(),
        EmitForm::Kernel => machine.kernel_macro(),
    }
}

/// Joins the expressions with `operator`, in brackets if there are several. An empty list gives 1
/// for "and" and 0 for "or".
fn join_expressions(mut expressions: Vec<String>, operator: &str) -> String {
    match expressions.len() {
        0 => u8::from(operator == AND).to_string(),
        1 => expressions.remove(0),
        _ => format!("({})", expressions.join(operator)),
    }
}

fn negate(expression: &str) -> String {
    // An expression that begins with `!` is a single term here: see [`kconfig_expression`] and
    // [`join_expressions`].
    if let Some(negated) = expression.strip_prefix('!') {
        return negated.to_owned();
    }
    let is_one_term = expression.starts_with('(')
        || expression.starts_with("defined(") && !expression.contains(' ');
    if is_one_term {
        format!("!{expression}")
    } else {
        format!("!({expression})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(section: &str, form: EmitForm, expect: Result<&str, &str>) {
        let text = format!(
            "[configuration.rt]\nkconfig = [\"CONFIG_PREEMPT_RT=y\"]\n\
             [configuration.debug]\n\
             [configuration.arm]\nmachine = [\"arm\", \"arm64\"]\nendian = \"little\"\n\
             [configuration.vm]\nfiles = [\"vmlinux\"]\n\
             [[section]]\n{section}\n[[section.type]]\nname = \"a\"\nsize = 1\n"
        );
        let config = CheckConfig::parse(&text).unwrap();
        let guard = PreprocessorGuard::from_section(&config, &config.sections[1], form);
        let found = match &guard {
            PreprocessorGuard::All(all) => Ok(all.join(" && ")),
            PreprocessorGuard::Unknown(why) => Err(why.as_str()),
        };
        assert_eq!(found, expect.map(str::to_owned), "{section}");
    }

    #[test]
    fn conditions_become_expressions() {
        use EmitForm::{Kernel, StaticAssert};
        check("", Kernel, Ok(""));
        check(
            "pointer_size = 8",
            StaticAssert,
            Ok("__SIZEOF_POINTER__ == 8"),
        );
        check("pointer_size = 4", Kernel, Ok("BITS_PER_LONG == 32"));
        check("machine = [\"s390\"]", Kernel, Ok("defined(CONFIG_S390)"));
        check(
            "machine = [\"s390\"]",
            StaticAssert,
            Ok("defined(__s390__)"),
        );
        check(
            "endian = \"big\"",
            Kernel,
            Ok("__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__"),
        );
        check(
            "configuration = [\"rt\"]",
            Kernel,
            Ok("defined(CONFIG_PREEMPT_RT)"),
        );
        check(
            "not_configuration = [\"rt\"]",
            Kernel,
            Ok("!defined(CONFIG_PREEMPT_RT)"),
        );
        check(
            "configuration = [\"debug\", \"rt\"]",
            Kernel,
            Ok("(defined(RELAYOUT_CONFIGURATION_DEBUG) || defined(CONFIG_PREEMPT_RT))"),
        );
        check(
            "not_configuration = [\"arm\"]",
            StaticAssert,
            Ok("!((defined(__arm__) || defined(__aarch64__)) && \
                __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)"),
        );
        check(
            "kconfig = [\"CONFIG_A=n\", \"CONFIG_B=m\", \"CONFIG_C=0x10\"]",
            Kernel,
            Ok(
                "!(defined(CONFIG_A) || defined(CONFIG_A_MODULE)) && defined(CONFIG_B_MODULE) && \
                defined(CONFIG_C) && CONFIG_C == 0x10",
            ),
        );
    }

    #[test]
    fn what_c_cannot_ask_is_said() {
        let check = |section: &str, why: &str| check(section, EmitForm::Kernel, Err(why));
        check(
            "files = [\"*.ko\"]",
            "C cannot ask for the file's name (`files`)",
        );
        check(
            "configuration = [\"vm\"]",
            "configuration `vm`: C cannot ask for the file's name (`files`)",
        );
        check(
            "kconfig = [\"CONFIG_A=\\\"x\\\"\"]",
            "the preprocessor cannot compare texts (`CONFIG_A=\"x\"`)",
        );
    }
}
