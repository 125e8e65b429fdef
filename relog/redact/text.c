/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts strings by rule: paths by component, command lines by argument, patterns and words anywhere. */
#include "relog/redact/text.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/sha256.h"
#include "relog/redact/parts.h"

#define EXTENSION_MAX 4u

/* ---- the redactor ----------------------------------------------------------------------------- */

void relog_redactor_open(struct relog_redactor *redactor, const struct relog_redact_rules *rules)
{
	*redactor = (struct relog_redactor){.rules = rules};
	common_sha256_of(rules->key, rules->key_size, redactor->key);
}

void relog_redactor_close(struct relog_redactor *redactor)
{
	relog_words_free(&redactor->words);
	explicit_bzero(redactor->key, sizeof(redactor->key));
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Folders that reveal nothing about the system's owner. */
static const char *const system_folders[] = {"usr", "lib",  "lib32", "lib64", "bin", "sbin",
					     "etc", "proc", "sys",   "dev",   NULL};
/* Components that are the same on all systems. */
static const char *const common_names[] = {
	"home", "tmp", "var", "opt",     "root",  "srv",   "mnt",   "media", "run",    "usr", "lib", "lib64", "bin",
	"sbin", "src", "etc", "include", "share", "local", "build", "Users", "export", ".",   "..",  "",      NULL};
static const char *const windows_names[] = {
	"Windows", "System32", "SysWOW64", "Device", "Program Files", "Program Files (x86)", NULL};

static bool is_one_of(const char *const *list, const char *word, size_t size)
{
	for (; *list; list++)
		if (strlen(*list) == size && memcmp(*list, word, size) == 0)
			return true;
	return false;
}

bool relog_is_common_name(const char *word, size_t size)
{
	return is_one_of(common_names, word, size) || is_one_of(windows_names, word, size);
}

void relog_rule_met(const struct relog_redactor *redactor, struct relog_redact_text *rule)
{
	rule->matched |= !redactor->own;
}

/* Tries each glob until the glob has matched once. So a glob behind another matching glob is not reported as unused. */
static bool matches_any(const struct relog_redactor *redactor, const struct relog_texts *globs, const char *path)
{
	bool found = false;

	for (size_t i = 0; i < globs->count; i++) {
		struct relog_redact_text *glob = &globs->list[i];

		if ((found && glob->matched) || fnmatch(glob->text, path, 0) != 0)
			continue;
		found = true;
		relog_rule_met(redactor, glob);
	}
	return found;
}

/* Names that are no paths, such as "[vdso]" and "//anon". */
static bool is_special(const char *path)
{
	return *path == '[' || strncmp(path, "//", 2) == 0 || !*path;
}

bool relog_is_redacted_path(const struct relog_redactor *redactor, const char *path)
{
	const struct relog_redact_rules *rules = redactor->rules;

	if (is_special(path) || matches_any(redactor, &rules->keep_globs, path))
		return false;
	if (matches_any(redactor, &rules->path_globs, path))
		return true;
	return rules->paths && !(*path == '/' && is_one_of(system_folders, path + 1, strcspn(path + 1, "/")));
}

bool relog_is_windows_path(const char *text)
{
	return (isalpha((unsigned char)text[0]) && text[1] == ':' && text[2] == '\\') ||
	       (text[0] == '\\' && (text[1] == '\\' || strchr(text + 1, '\\')));
}

/* Returns the length of the path component at `path`, up to a separator. */
static size_t component_length(const char *path, size_t size, bool windows)
{
	size_t n = 0;

	while (n < size && path[n] != '/' && !(windows && path[n] == '\\'))
		n++;
	return n;
}

/* Returns the offset of the extension in a file name; `size` without an extension. */
static size_t extension_at(const char *name, size_t size)
{
	const char *object = memmem(name, size, ".so", 3);
	size_t dot = size;

	if (object > name && (object + 3 == name + size || object[3] == '.'))
		return (size_t)(object - name);
	while (dot > 1 && isalnum((unsigned char)name[dot - 1]))
		dot--;
	return dot > 1 && name[dot - 1] == '.' && size - dot >= 1 && size - dot <= EXTENSION_MAX ? dot - 1 : size;
}

static int write_component(const struct relog_redactor *redactor, const char *name, size_t size, struct ptl_bytes *out)
{
	const size_t stem = extension_at(name, size);
	int status;

	if (relog_is_common_name(name, size)) {
		common_write_bytes(out, name, size);
		return 0;
	}
	/* The token stands for the whole name: the same stem with another extension gets another token. */
	status = relog_token_write(redactor, name, size, out);
	common_write_bytes(out, name + stem, size - stem);
	return status;
}

static int write_path(const struct relog_redactor *redactor, const char *path, size_t size, struct ptl_bytes *out)
{
	const bool windows = relog_is_windows_path(path);
	size_t at = 0;
	int status = 0;

	if (size > 6 && memcmp(path, "memfd:", 6) == 0)
		at = 6;
	else if (windows && path[1] == ':')
		at = 2; /* Keep the drive, which is no secret. */
	common_write_bytes(out, path, at);
	while (!status) {
		const size_t length = component_length(path + at, size - at, windows);

		status = write_component(redactor, path + at, length, out);
		at += length;
		if (at == size)
			break;
		common_write_bytes(out, path + at, 1);
		at++;
	}
	return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-.+~@%", c)) || (unsigned char)c >= 0x80;
}

size_t relog_run_length(const char *text, size_t size, bool with_slashes)
{
	size_t n = 0;

	while (n < size && (is_word_char(text[n]) || (with_slashes && text[n] == '/')))
		n++;
	return n;
}

size_t relog_known_part(const struct relog_redactor *redactor, const char *word, size_t size)
{
	const char *dot;

	if (size >= RELOG_WORD_MIN && relog_words_have(&redactor->words, word, size))
		return size;
	dot = memchr(word, '.', size);
	if (dot && (size_t)(dot - word) >= RELOG_WORD_MIN &&
	    relog_words_have(&redactor->words, word, (size_t)(dot - word)))
		return (size_t)(dot - word);
	return 0;
}

static int write_words(const struct relog_redactor *redactor, const char *text, size_t size, struct ptl_bytes *out)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		const size_t length = relog_run_length(text + at, size - at, false);
		const size_t known = length ? relog_known_part(redactor, text + at, length) : 0;

		if (known)
			status = relog_token_write(redactor, text + at, known, out);
		common_write_bytes(out, text + at + known, length ? length - known : 1);
		at += length ? length : 1;
	}
	return status;
}

/* Redacts paths and words within a text. */
static int write_text(const struct relog_redactor *redactor, const char *text, size_t size, struct ptl_bytes *out)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		const size_t length = relog_run_length(text + at, size - at, true);
		char *run;

		if (!length) {
			common_write_bytes(out, text + at++, 1);
			continue;
		}
		run = strndup(text + at, length);
		if (!run)
			return common_fail_memory("a text", length);
		if (memchr(run, '/', length) && relog_is_redacted_path(redactor, run))
			status = write_path(redactor, run, length, out);
		else
			status = write_words(redactor, run, length, out);
		free(run);
		at += length;
	}
	return status;
}

/* ---- patterns -------------------------------------------------------------------------------- */

bool relog_find_match(const struct relog_redactor *redactor, const char *text, size_t size, size_t from, size_t *first,
		      size_t *length)
{
	const struct relog_redact_rules *rules = redactor->rules;
	size_t found_first, found_length;
	bool found = false;

	for (size_t i = 0; i < rules->literals.count; i++) {
		struct relog_redact_text *literal = &rules->literals.list[i];
		const char *at = strstr(text + from, literal->text);

		if (at)
			relog_rule_met(redactor, literal);
		if (at && (!found || (size_t)(at - text) < *first)) {
			found = true;
			*first = (size_t)(at - text);
			*length = strlen(literal->text);
		}
	}
	for (size_t i = 0; i < rules->regexes.count; i++) {
		if (!relog_pattern_find(&rules->patterns[i], text, size, from, &found_first, &found_length))
			continue;
		relog_rule_met(redactor, &rules->regexes.list[i]);
		if (!found || found_first < *first) {
			found = true;
			*first = found_first;
			*length = found_length;
		}
	}
	return found;
}

static int write_without_matches(const struct relog_redactor *redactor, const char *text, struct ptl_bytes *out)
{
	const size_t size = strlen(text);
	size_t at = 0, first, length;
	int status = 0;

	while (!status && relog_find_match(redactor, text, size, at, &first, &length)) {
		common_write_bytes(out, text + at, first - at);
		status = relog_token_write(redactor, text + first, length, out);
		at = first + length;
	}
	common_write_bytes(out, text + at, size - at + 1);
	return status;
}

int relog_redact_matches(struct relog_redactor *redactor, const char *text, struct ptl_bytes *out)
{
	const int status = write_without_matches(redactor, text, out);

	return status || !out->failed ? status : common_fail_memory("a text", strlen(text));
}

/* ---- command lines --------------------------------------------------------------------------- */

/* Returns the bytes up to the end of a shell word, including quotes. */
static size_t word_length(const char *text)
{
	size_t n = 0;
	char quote = 0;

	for (; text[n] && (quote || !isspace((unsigned char)text[n])); n++) {
		if (quote && text[n] == quote)
			quote = 0;
		else if (!quote && (text[n] == '\'' || text[n] == '"'))
			quote = text[n];
		else if (text[n] == '\\' && quote != '\'' && text[n + 1])
			n++;
	}
	return n;
}

/*
 * Extracts a path from a word that is one single-quoted path, as paths with blanks are written. *path is new memory;
 * NULL: no such path. Returns PTL_NO_MEMORY.
 */
static int quoted_path(const char *word, size_t size, char **path)
{
	const bool is_quoted = size > 3 && word[0] == '\'' && word[1] == '/' && word[size - 1] == '\'' &&
			       !memchr(word + 1, '\'', size - 2);

	*path = is_quoted ? strndup(word + 1, size - 2) : NULL;
	return is_quoted && !*path ? common_fail_memory("a path", size) : 0;
}

static int write_shell_word(const struct relog_redactor *redactor, const char *word, size_t size, struct ptl_bytes *out)
{
	char *path;
	int status = quoted_path(word, size, &path);

	if (status)
		return status;
	if (!path)
		return write_text(redactor, word, size, out);
	if (!relog_is_redacted_path(redactor, path)) {
		status = write_words(redactor, word, size, out);
	} else {
		common_write_bytes(out, "'", 1);
		status = write_path(redactor, path, size - 2, out);
		common_write_bytes(out, "'", 1);
	}
	free(path);
	return status;
}

/* Redacts a command line without the rule "commands": each word as text, and a quoted path as path. */
static int write_shell_words(const struct relog_redactor *redactor, const char *text, struct ptl_bytes *out)
{
	int status = 0;

	for (size_t at = 0; text[at] && !status;) {
		const size_t length = word_length(text + at);

		if (length)
			status = write_shell_word(redactor, text + at, length, out);
		else
			common_write_bytes(out, text + at, 1);
		at += length ? length : 1;
	}
	return status;
}

/* Redacts a command line by the rule "commands": the program by the rules for paths, each argument as one token. */
static int write_command(const struct relog_redactor *redactor, const char *text, struct ptl_bytes *out)
{
	const size_t program = word_length(text);
	size_t at = program;
	int status = write_shell_word(redactor, text, program, out);

	while (text[at] && !status) {
		const size_t length = word_length(text + at);

		if (length)
			status = relog_token_write(redactor, text + at, length, out);
		else
			common_write_bytes(out, text + at, 1);
		at += length ? length : 1;
	}
	return status;
}

/* ---- a string -------------------------------------------------------------------------------- */

static int write_kind(const struct relog_redactor *redactor, enum relog_text_kind kind, const char *text,
		      struct ptl_bytes *out)
{
	const size_t size = strlen(text);

	if (!size)
		return 0;
	if (kind == RELOG_SECRET || (kind == RELOG_THREAD && redactor->rules->threads))
		return relog_token_write(redactor, text, size, out);
	if (kind == RELOG_COMMAND)
		return redactor->rules->commands ? write_command(redactor, text, out)
						 : write_shell_words(redactor, text, out);
	/* The string is a single path with arbitrary bytes: blanks do not separate paths. */
	if (kind == RELOG_PATH)
		return relog_is_redacted_path(redactor, text) ? write_path(redactor, text, size, out)
							      : write_words(redactor, text, size, out);
	return write_text(redactor, text, size, out);
}

int relog_redact_text(struct relog_redactor *redactor, enum relog_text_kind kind, const char *text,
		      struct ptl_bytes *out)
{
	struct ptl_bytes plain = {0};
	int status = write_without_matches(redactor, text, &plain);

	if (!status && plain.failed)
		status = common_fail_memory("a text", strlen(text));
	if (!status)
		status = write_kind(redactor, kind, (const char *)plain.data, out);
	common_write_bytes(out, "", 1);
	common_bytes_free(&plain);
	return status || !out->failed ? status : common_fail_memory("a text", strlen(text));
}

/* ---- learning -------------------------------------------------------------------------------- */

int relog_redactor_learn_word(struct relog_redactor *redactor, const char *word, size_t size)
{
	if (size < RELOG_WORD_MIN || relog_is_common_name(word, size) || is_one_of(system_folders, word, size))
		return 0;
	return relog_words_add(&redactor->words, word, size);
}

static int learn_user(struct relog_redactor *redactor, const char *path)
{
	static const char *const homes[] = {"/home/", "/Users/", "\\Users\\"};
	int status = 0;

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]) && !status; i++) {
		const char *home_prefix = strstr(path, homes[i]);

		if (home_prefix)
			status = relog_redactor_learn_word(
				redactor, home_prefix + strlen(homes[i]),
				strcspn(home_prefix + strlen(homes[i]), homes[i][0] == '/' ? "/" : "/\\"));
	}
	return status;
}

static int learn_path(struct relog_redactor *redactor, const char *path)
{
	const bool windows = relog_is_windows_path(path);
	int status = redactor->rules->users ? learn_user(redactor, path) : 0;

	if (status || !relog_is_redacted_path(redactor, path))
		return status;
	while (!status) {
		const size_t length = component_length(path, strlen(path), windows), stem = extension_at(path, length);

		status = relog_redactor_learn_word(redactor, path, length);
		if (!status && stem > RELOG_WORD_MIN)
			status = relog_redactor_learn_word(redactor, path, stem);
		if (!path[length])
			break;
		path += length + 1;
	}
	return status;
}

/* Learns from the paths within a text. */
static int learn_text(struct relog_redactor *redactor, const char *text, size_t size)
{
	size_t at = 0;
	int status = 0;

	while (at < size && !status) {
		const size_t length = relog_run_length(text + at, size - at, true);
		char *run = length && memchr(text + at, '/', length) ? strndup(text + at, length) : NULL;

		if (run)
			status = learn_path(redactor, run);
		free(run);
		at += length ? length : 1;
	}
	return status;
}

static int learn_command(struct relog_redactor *redactor, const char *text)
{
	int status = 0;

	for (size_t at = 0; text[at] && !status;) {
		const size_t length = word_length(text + at);
		char *path;

		status = quoted_path(text + at, length, &path);
		if (!status)
			status = path ? learn_path(redactor, path) : learn_text(redactor, text + at, length);
		free(path);
		at += length ? length : 1;
	}
	return status;
}

int relog_redactor_learn(struct relog_redactor *redactor, enum relog_text_kind kind, const char *text)
{
	if (kind == RELOG_PATH)
		return learn_path(redactor, text);
	if (kind == RELOG_COMMAND)
		return learn_command(redactor, text);
	if (kind == RELOG_THREAD && redactor->rules->threads)
		return relog_redactor_learn_word(redactor, text, strlen(text));
	return learn_text(redactor, text, strlen(text));
}
