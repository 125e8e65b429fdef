/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line that runs a program in QEMU: for the recorder, and at execve. */

#include "record/qemu/shared/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/process/target.h"

/* -U G_SLICE -seed 0 -plugin P -0 argv0 path */
#define OWN_ARGUMENTS 10
#define PLUGIN_OPTION_MAX (3 * QEMU_CHANNEL_PATH_SIZE)
/*
 * QEMU's fork leaves a child that has no use for the slices of GLib 2.74 and older when another thread of the parent was just
 * taking one: its lock stays taken, and the child waits for it at its next translation (QEMU's issue 285). malloc's locks are
 * released in a child.
 */
#define SLICES "G_SLICE"

static size_t count_strings(char *const strings[])
{
	size_t count = 0;

	while (strings && strings[count])
		count++;
	return count;
}

/* Strings being gathered; a failed copy is remembered until the end. */
struct list {
	char **strings;
	size_t count;
	bool failed;
};

static void add(struct list *list, const char *string)
{
	char *copy = list->strings ? strdup(string) : NULL;

	if (copy)
		list->strings[list->count++] = copy;
	else
		list->failed = true;
}

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

static bool is_for_qemu(const char *variable)
{
	return !strncmp(variable, "QEMU_", 5) || !strncmp(variable, SLICES "=", sizeof(SLICES));
}

/*
 * QEMU reads variables named QEMU_... and G_SLICE, and would take the program's for its own; it can be asked to
 * pass others on.
 */
static void add_variables(struct list *list, char *const envp[])
{
	add(list, "-U");
	add(list, SLICES);
	for (size_t i = 0; envp && envp[i]; i++) {
		if (!is_for_qemu(envp[i]) || strchr(envp[i], ',') || !strchr(envp[i], '='))
			continue;
		add(list, "-E");
		add(list, envp[i]);
	}
}

/* In QEMU's options a comma ends a value unless it is doubled. */
static size_t put_escaped(char *out, const char *text)
{
	size_t size = 0;

	for (; *text; text++) {
		if (*text == ',')
			out[size++] = ',';
		out[size++] = *text;
	}
	return size;
}

static void add_plugin(struct list *list, const struct qemu_channel_config *config, const struct qemu_continue *from,
		       size_t program, size_t script)
{
	char option[PLUGIN_OPTION_MAX + 256];
	size_t size = put_escaped(option, config->plugin_path);

	size += (size_t)snprintf(option + size, sizeof(option) - size, ",arena=%s,program=%zu", config->arena_path,
				 program);
	if (script)
		size += (size_t)snprintf(option + size, sizeof(option) - size, ",script=%zu", script);
	if (from)
		snprintf(option + size, sizeof(option) - size,
			 ",process=%" PRIu32 ",slot=%" PRId64 ",time=%" PRIu64 ",epoch=%" PRIu64, from->process,
			 from->slot, from->time, from->epoch);
	add(list, "-plugin");
	add(list, option);
}

/* A path that looks like an option is given another form. */
static void add_path(struct list *list, const char *path)
{
	char form[QEMU_CHANNEL_PATH_SIZE + 2];

	snprintf(form, sizeof(form), "%s%s", path[0] == '-' ? "./" : "", path);
	add(list, form);
}

static void add_arguments(struct list *list, const struct qemu_channel_config *config,
			  const struct record_target *target, char *const argv[], char *const envp[],
			  const struct qemu_continue *from)
{
	size_t path_at, script_at = 0;

	add(list, config->qemu_path);
	add_variables(list, envp);
	if (config->clock == PTL_CLOCK_VIRTUAL) {
		add(list, "-seed");
		add(list, "0");
	}
	/* After the plugin's two and -0 and argv[0]. */
	path_at = list->count + 4;
	/* The script's path is the last of the prefix. */
	if (target->prefix_count)
		script_at = path_at + target->prefix_count - 1;
	add_plugin(list, config, from, path_at, script_at);
	add(list, "-0");
	if (target->prefix_count)
		add(list, target->prefix[0]);
	else
		add(list, argv && argv[0] ? argv[0] : "");
	add_path(list, target->path);
	for (size_t i = 1; i < target->prefix_count; i++)
		add(list, target->prefix[i]);
	for (size_t i = 1; argv && argv[0] && argv[i]; i++)
		add(list, argv[i]);
}

/* QEMU hands the variables on in the reverse of the order it finds them in. */
static void add_environment(struct list *list, char *const envp[])
{
	for (size_t i = count_strings(envp); i > 0; i--)
		if (!is_for_qemu(envp[i - 1]))
			add(list, envp[i - 1]);
	add(list, SLICES "=always-malloc");
}

int qemu_command_make(struct qemu_command *command, const struct qemu_channel_config *config, const char *file,
		      char *const argv[], char *const envp[], const struct qemu_continue *from)
{
	size_t argc = count_strings(argv), variables = count_strings(envp);
	struct list arguments = {0}, environment = {0};
	struct record_target target;
	int status = record_target_find(&target, file);

	if (status)
		return status;
	arguments.strings = calloc(argc + 2 * variables + target.prefix_count + OWN_ARGUMENTS + 2, sizeof(char *));
	environment.strings = calloc(variables + 2, sizeof(char *));
	add_arguments(&arguments, config, &target, argv, envp, from);
	add_environment(&environment, envp);
	record_target_free(&target);
	*command = (struct qemu_command){strdup(config->qemu_path), arguments.strings, environment.strings};
	if (arguments.failed || environment.failed || !command->path || !environment.strings) {
		qemu_command_free(command);
		return -ENOMEM;
	}
	return 0;
}

void qemu_command_free(struct qemu_command *command)
{
	free_strings(command->argv);
	free_strings(command->envp);
	free(command->path);
	*command = (struct qemu_command){0};
}
