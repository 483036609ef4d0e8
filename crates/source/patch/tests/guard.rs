//! Stores that are only made when they change something.

use relayout_patch::guard_store;

fn guarded(source: &str, line: u32, member: &str, reason: Option<&str>) -> String {
    match guard_store("f.c", source, line, member, reason) {
        Ok(new) => new,
        Err(refusal) => refusal.to_string(),
    }
}

/// One statement in a function.
fn check(statement: &str, expect: &str) {
    let around = |body: &str| format!("void f(struct s *p)\n{{\n{body}}}\n");
    assert_eq!(guarded(&around(statement), 3, "s.x", None), around(expect));
}

fn check_refused(statement: &str, expect: &str) {
    let source = format!("void f(struct s *p)\n{{\n{statement}}}\n");
    assert_eq!(guarded(&source, 3, "x", None), expect);
}

#[test]
fn plain_stores_are_guarded() {
    check(
        "\tp->x = 1;\t/* one */\n",
        "\tif (p->x != 1)\n\t\tp->x = 1;\t/* one */\n",
    );
    check(
        "    p->q.x = v->y;\n",
        "    if (p->q.x != v->y)\n        p->q.x = v->y;\n",
    );
    check(
        "\tx[i] = -a[2];\n",
        "\tif (x[i] != -a[2])\n\t\tx[i] = -a[2];\n",
    );
    check(
        "\tp->x = a & b;\n",
        "\tif (p->x != (a & b))\n\t\tp->x = a & b;\n",
    );
    check(
        "\tp->x =\n\t\t(int)y;\n",
        "\tif (p->x != (int)y)\n\t\tp->x = (int)y;\n",
    );
    check(
        "\tWRITE_ONCE(p->x, READ_ONCE(y));\n",
        "\tif (READ_ONCE(p->x) != READ_ONCE(y))\n\t\tWRITE_ONCE(p->x, READ_ONCE(y));\n",
    );
}

#[test]
fn the_kernel_has_its_idiom() {
    let source = "#include <linux/osq_lock.h>\nint f(void)\n{\n\tnode->locked = 0;\n\tnode->cpu = curr;\n}\n";
    let reason = "Mostly unchanged: do not take the line from spinners that read it.";
    assert_eq!(
        guarded(source, 5, "cpu", Some(reason)),
        format!(
            "#include <linux/osq_lock.h>\nint f(void)\n{{\n\tnode->locked = 0;\n\t/* {reason} */\n\
             \tif (READ_ONCE(node->cpu) != curr)\n\t\tWRITE_ONCE(node->cpu, curr);\n}}\n"
        )
    );
}

#[test]
fn what_would_change_more_is_refused() {
    let stays = |why: &str| format!("f.c:3: the assignment to x stays as it is: {why}");
    let twice =
        "it calls something, which would be called twice: put the value into a variable first";
    check_refused("\tp->x = next();\n", &stays(twice));
    check_refused("\tp->x = i++;\n", &stays("it has ++ or -- in it"));
    check_refused(
        "\tp->x = p->y = 1;\n",
        &stays("it has another assignment in it"),
    );
    let none = "f.c:3: no assignment to x begins on this line";
    check_refused("\tp->y = 1;\n", none);
    check_refused("\tp->x += 1;\n", none);
    check_refused("\tint x = 1;\n", none);
    check_refused("\tif (a)\n\t\tp->x = 1;\n", none);
    let source = "if (a)\n\tp->x = 1;\nelse\n\tp->x = 2;\n";
    let hidden =
        "f.c:2: the assignment to x stays as it is: the else behind it would belong to the new if";
    assert_eq!(guarded(source, 2, "x", None), hidden);
    let last = "if (a)\n\tp->x = 1;\nelse\n\tif (p->x != 2)\n\t\tp->x = 2;\n";
    assert_eq!(guarded(source, 4, "x", None), last);
}
