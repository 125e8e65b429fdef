/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests redaction of strings, and of any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "relog/redact/text.h"

struct fixture {
	struct relog_redact_rules rules;
	struct relog_redactor redactor;
};

/* Starts redaction. rules: NULL-ended. The key and so the tokens are the same in every run. */
static void start(struct fixture *fixture, const char *const *rules)
{
	*fixture = (struct fixture){{0}};
	fixture->rules.key = (uint8_t *)strdup("0123456789abcdef");
	fixture->rules.key_size = 16;
	for (; *rules; rules++)
		assert_int_equal(relog_redact_rule(&fixture->rules, *rules), 0);
	relog_redactor_open(&fixture->redactor, &fixture->rules);
}

static void stop(struct fixture *fixture)
{
	relog_redactor_close(&fixture->redactor);
	relog_redact_rules_free(&fixture->rules);
}

/* Returns the redacted string with each token as "T". Valid until the next call. */
static const char *redacted(struct fixture *fixture, enum relog_text_kind kind, const char *text)
{
	static char shown[256];
	struct ptl_bytes out = {0};
	size_t n = 0;

	assert_int_equal(relog_redact_text(&fixture->redactor, kind, text, &out), 0);
	assert_int_equal(strlen((const char *)out.data) + 1, out.size);
	for (size_t i = 0; i < out.size; n++) {
		const char *at = (const char *)out.data + i;
		const bool token = *at == 'x' && strspn(at, "abcdefghijkmnpqrstuvwxyz23456789") >= 11;

		shown[n] = token ? 'T' : *at;
		i += token ? 11 : 1;
	}
	common_bytes_free(&out);
	return shown;
}

static void paths(void **state)
{
	static const char *const rules[] = {"paths", "keep:*/kept/*", "path:/usr/lib/own/*", NULL};
	struct fixture fixture;

	(void)state;
	start(&fixture, rules);
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/home/anna/my work/a.out"), "/home/T/T/T.out");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/tmp/libx.so.1.2"), "/tmp/T.so.1.2");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/usr/lib/libc.so.6"), "/usr/lib/libc.so.6");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/usr/lib/own/a"), "/usr/lib/T/T");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/opt/kept/a.so"), "/opt/kept/a.so");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/opt/kept/my own/a.so"), "/opt/kept/my own/a.so");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "[vdso]"), "[vdso]");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "//anon"), "//anon");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "memfd:code"), "memfd:T");
	assert_string_equal(redacted(&fixture, RELOG_PATH, ""), "");
	assert_string_equal(redacted(&fixture, RELOG_TEXT, "cannot open /srv/x/y: no --dir=/srv/z."),
			    "cannot open /srv/T/T: no --dir=/srv/T");
	stop(&fixture);
}

/* A path with blanks is one path, also in a command line: its parts are not secret words elsewhere. */
static void paths_with_blanks(void **state)
{
	static const char *const rules[] = {"paths", "keep:*/kept*", NULL};
	struct fixture fixture;

	(void)state;
	start(&fixture, rules);
	assert_int_equal(relog_redactor_learn(&fixture.redactor, RELOG_COMMAND,
					      "'/opt/our old.tools/kept x/tool' -o /srv/secret"),
			 0);
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/opt/our old.tools/kept x/tool"),
			    "/opt/our old.tools/kept x/tool");
	assert_string_equal(redacted(&fixture, RELOG_COMMAND, "'/opt/our old.tools/kept x/tool' -o /srv/secret"),
			    "'/opt/our old.tools/kept x/tool' -o /srv/T");
	assert_string_equal(redacted(&fixture, RELOG_COMMAND, "'/opt/our old.tools/tool' a"), "'/opt/T/T' a");
	stop(&fixture);
}

static void words_go_wherever_they_stand(void **state)
{
	static const char *const rules[] = {"paths", "users", NULL};
	struct fixture fixture;

	(void)state;
	start(&fixture, rules);
	assert_int_equal(relog_redactor_learn(&fixture.redactor, RELOG_PATH, "/home/anna/project-y/tool.bin"), 0);
	assert_string_equal(redacted(&fixture, RELOG_TEXT, "anna runs tool, not toolbox, in project-y."),
			    "T runs T, not toolbox, in T.");
	assert_string_equal(redacted(&fixture, RELOG_PATH, "/usr/lib/anna.conf"), "/usr/lib/T.conf");
	stop(&fixture);
}

static void commands_and_patterns(void **state)
{
	static const char *const rules[] = {"commands", "threads", "text:s3cret", "regex:[0-9]{4}-[0-9]{4}", NULL};
	struct fixture fixture;

	(void)state;
	start(&fixture, rules);
	assert_string_equal(redacted(&fixture, RELOG_COMMAND, "/bin/sh -c 'echo  \"a b\"' c\\ d \"e f\""),
			    "/bin/sh T T T T");
	assert_string_equal(redacted(&fixture, RELOG_COMMAND, "program"), "program");
	assert_string_equal(redacted(&fixture, RELOG_THREAD, "worker 1"), "T");
	assert_string_equal(redacted(&fixture, RELOG_TEXT, "As3crety 1234-5678."), "ATy T.");
	stop(&fixture);
}

static void equal_texts_have_equal_tokens(void **state)
{
	static const char *const rules[] = {"paths", NULL};
	struct ptl_bytes first = {0}, second = {0};
	struct fixture fixture;

	(void)state;
	start(&fixture, rules);
	assert_int_equal(relog_redact_text(&fixture.redactor, RELOG_PATH, "/a/b/a", &first), 0);
	assert_memory_equal(first.data, first.data + 24, 12);
	assert_memory_not_equal(first.data, first.data + 12, 12);
	stop(&fixture);
	start(&fixture, rules);
	assert_int_equal(relog_redact_text(&fixture.redactor, RELOG_PATH, "/a/b/a", &second), 0);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	stop(&fixture);
	common_bytes_free(&first);
	common_bytes_free(&second);
}

static bool raw(struct fixture *fixture, void *data, size_t size)
{
	bool changed = false;

	assert_int_equal(relog_redact_raw(&fixture->redactor, data, size, &changed), 0);
	return changed;
}

static bool finds(struct fixture *fixture, const void *data, size_t size)
{
	bool found = false;

	assert_int_equal(relog_redact_find(&fixture->redactor, data, size, &found), 0);
	return found;
}

static void bytes_of_any_kind(void **state)
{
	static const char *const rules[] = {"paths", "users", "text:needle", NULL};
	char text[] = "\0/home/anna/it.c\0\x90\x90"
		      "anna needle",
	     wide[] = "a\0n\0n\0a\0\0\0";
	struct fixture fixture;

	(void)state;
	start(&fixture, rules);
	assert_int_equal(relog_redactor_learn(&fixture.redactor, RELOG_PATH, "/home/anna/"), 0);
	assert_true(raw(&fixture, text, sizeof(text)));
	assert_memory_equal(text, "\0/home/x", 8);
	assert_memory_not_equal(text + 7, "anna/it.c", 9);
	assert_memory_equal(text + 16, "\0\x90\x90", 3);
	assert_null(memmem(text, sizeof(text), "needle", 6));
	assert_true(raw(&fixture, wide, sizeof(wide)));
	assert_memory_not_equal(wide, "a\0n\0n\0a", 7);
	assert_int_equal(wide[1] | wide[3] | wide[5] | wide[7], 0);
	stop(&fixture);
}

static void what_may_be_instructions_is_only_searched(void **state)
{
	static const char *const rules[] = {"paths", "users", "text:needle", NULL};
	static const char path[] = "\0/home/anna/it.c", literal[] = "\x90needle\x90",
			  in_between[] = "\x90/home/anna/\x90", word[] = "\0anna", other[] = "\0/usr/lib/libc.so.6";
	struct fixture fixture;

	(void)state;
	start(&fixture, rules);
	assert_int_equal(relog_redactor_learn(&fixture.redactor, RELOG_PATH, "/home/anna/"), 0);
	assert_true(finds(&fixture, path, sizeof(path)));
	assert_true(finds(&fixture, literal, sizeof(literal)));
	assert_false(finds(&fixture, in_between, sizeof(in_between)));
	assert_false(finds(&fixture, word, sizeof(word)));
	assert_false(finds(&fixture, other, sizeof(other)));
	stop(&fixture);
}

static void rules_that_are_none(void **state)
{
	static const char *const wrong[] = {
		"", "path", "path:", "text:", "regex:", "regex:(", "regex:x*", "Paths", NULL};

	(void)state;
	for (size_t i = 0; wrong[i]; i++) {
		struct relog_redact_rules rules = {0};

		assert_int_equal(relog_redact_rule(&rules, wrong[i]), PTL_MISUSE);
		relog_redact_rules_free(&rules);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(paths_with_blanks),
		cmocka_unit_test(words_go_wherever_they_stand),
		cmocka_unit_test(commands_and_patterns),
		cmocka_unit_test(equal_texts_have_equal_tokens),
		cmocka_unit_test(bytes_of_any_kind),
		cmocka_unit_test(what_may_be_instructions_is_only_searched),
		cmocka_unit_test(rules_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
