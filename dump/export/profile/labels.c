/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels from the command line and, if requested, from the environment of a CI job. */
#include "dump/export/profile/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/json.h"

/* CI services, which describe their job in environment variables. */
enum service { GITHUB, GITLAB, SERVICES };

static const char *const service_variables[SERVICES] = {[GITHUB] = "GITHUB_ACTIONS", [GITLAB] = "GITLAB_CI"};

static const struct {
	const char *label;
	const char *variables[SERVICES];
} ci_labels[] = {
	{"commit", {"GITHUB_SHA", "CI_COMMIT_SHA"}},
	{"branch", {"GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"}},
	{"job", {"GITHUB_JOB", "CI_JOB_NAME"}},
	{"run", {"GITHUB_RUN_ID", "CI_PIPELINE_ID"}},
	{"repository", {"GITHUB_REPOSITORY", "CI_PROJECT_PATH"}},
};

/* Returns the length of a label's name, from characters that need no quotes in queries and shells. */
static size_t name_size(const char *label)
{
	return strspn(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
}

static bool is_given(const struct common_string_list *given, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (name_size(given->list[i]) == size && strncmp(given->list[i], name, size) == 0)
			return true;
	return false;
}

static int add_given(struct common_json *json, const struct common_string_list *given)
{
	for (size_t i = 0; i < given->count; i++) {
		const char *label = given->list[i];
		const size_t size = name_size(label);
		char *name;

		if (!size || label[size] != '=')
			return common_fail(PTL_MISUSE,
					   "--label %s: NAME=VALUE was expected, and NAME of letters, digits, '_', "
					   "'-' and '.'",
					   label);
		if (is_given(given, i, label, size))
			return common_fail(PTL_MISUSE, "--label: '%.*s' is given twice", (int)size, label);
		name = strndup(label, size);
		if (!name)
			return common_fail_memory("a label", size);
		common_json_string(json, name, label + size + 1);
		free(name);
	}
	return 0;
}

static int add_of_ci(struct common_json *json, const struct common_string_list *given)
{
	size_t service = 0;

	while (service < SERVICES && !getenv(service_variables[service]))
		service++;
	if (service == SERVICES)
		return common_fail(PTL_MISUSE,
				   "--label-ci: this is no job of GitHub or GitLab, since neither %s nor "
				   "%s is set; --label commit=... says it",
				   service_variables[GITHUB], service_variables[GITLAB]);
	for (size_t i = 0; i < sizeof(ci_labels) / sizeof(ci_labels[0]); i++) {
		const char *label = ci_labels[i].label, *value = getenv(ci_labels[i].variables[service]);

		if (value && !is_given(given, given->count, label, strlen(label)))
			common_json_string(json, label, value);
	}
	return 0;
}

int dump_labels_format(const struct dump_labels *labels, struct ptl_bytes *json)
{
	struct common_json writer;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int status;

	if (!file)
		return common_fail_memory("labels", 0);
	common_json_start(&writer, file);
	common_json_object(&writer, NULL);
	status = add_given(&writer, &labels->given);
	if (!status && labels->of_ci)
		status = add_of_ci(&writer, &labels->given);
	common_json_object_end(&writer);
	if (fclose(file) && !status)
		status = common_fail_memory("labels", size);
	if (!status)
		common_write_bytes(json, text, size);
	free(text);
	return !status && json->failed ? common_fail_memory("labels", size) : status;
}
