/* SPDX-License-Identifier: BSD-2-Clause */
/* Drives Slurm by its programs: sbatch submits jobs, squeue lists active jobs, and files show which jobs are done. */
#include "dump/run/slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/text/quote.h"
#include "common/text/text.h"
#include "dump/run/ask.h"
#include "dump/run/slurm_answer.h"

#define ATTEMPTS 3
#define POLL_MICROSECONDS 500000
#define SILENT_POLLS 240 /* failed calls of squeue in a row before giving up */
#define LATE_POLLS 6     /* polls to wait for the file of a finished job: a network file system may delay the file */
#define LOG_MAX ((size_t)16 << 20)
#define CANCEL_POLLS 40 /* polls to wait for cancelled jobs to end */
#define LISTED 8        /* jobs named in a message */
#define NAME_MAX_SIZE 32

struct slurm {
	const struct dump_cluster_work *work;
	const struct dump_slurm_options *options;
	char *folder;                   /* absolute path; owned */
	char array[DUMP_SLURM_ID_SIZE]; /* job ids; "": no job */
	char merge[DUMP_SLURM_ID_SIZE];
	uint32_t count, done;
	bool submitted;          /* jobs were submitted; their logs may explain a failure */
	struct ptl_bytes output; /* of the last program */
	struct ptl_bytes path;   /* scratch */
};

/* ---- files --------------------------------------------------------------------------------------- */

/* Returns the path of a file in the folder. The text is valid until the next call. */
static const char *file_of(struct slurm *slurm, const char *name)
{
	slurm->path.size = 0;
	common_text_format(&slurm->path, "%s/%s", slurm->folder, name);
	return common_text_string(&slurm->path);
}

static const char *file_of_job(struct slurm *slurm, uint32_t job, const char *kind)
{
	char name[NAME_MAX_SIZE];

	snprintf(name, sizeof(name), "%" PRIu32 ".%s", job, kind);
	return file_of(slurm, name);
}

static bool is_done(struct slurm *slurm, uint32_t job)
{
	return access(file_of_job(slurm, job, "part"), F_OK) == 0;
}

static uint32_t count_done(struct slurm *slurm)
{
	uint32_t done = 0;

	for (uint32_t job = 1; job <= slurm->count; job++)
		done += is_done(slurm, job);
	return done;
}

static int write_script(struct slurm *slurm, const char *name, const struct ptl_bytes *script)
{
	struct common_output_file file = {.fd = -1};
	int status = script->failed ? common_fail_memory("a script", script->size)
				    : common_output_open(&file, file_of(slurm, name), true);

	if (!status)
		status = common_write_all(file.fd, script->data, script->size);
	if (!status)
		status = common_output_commit(&file);
	common_output_abandon(&file);
	return status;
}

/* Writes the script for Slurm. It runs a job of the array, or the merge, whose exit status is written to a file. */
static int write_scripts(struct slurm *slurm)
{
	struct ptl_bytes script = {0};
	int status;

	dump_cluster_script(slurm->work, &script);
	status = write_script(slurm, "jobs.sh", &script);
	script.size = 0;
	common_text_add(&script, "#!/bin/sh\nPTL_SCRATCH=");
	common_quote_word(&script, slurm->folder);
	common_text_add(&script, "\nexport PTL_SCRATCH\n"
				 "if [ -n \"${SLURM_ARRAY_TASK_ID-}\" ]; then\n"
				 "\texec sh \"$PTL_SCRATCH/jobs.sh\" \"$SLURM_ARRAY_TASK_ID\"\n"
				 "fi\n"
				 "sh \"$PTL_SCRATCH/jobs.sh\" merge >\"$PTL_SCRATCH/result\"\n"
				 "echo $? >\"$PTL_SCRATCH/status.new\"\n"
				 "mv \"$PTL_SCRATCH/status.new\" \"$PTL_SCRATCH/status\"\n");
	if (!status)
		status = write_script(slurm, "slurm.sh", &script);
	common_bytes_free(&script);
	return status;
}

static int make_folder(struct slurm *slurm)
{
	const char *scratch = slurm->options->scratch ? slurm->options->scratch : ".";
	char *place = realpath(scratch, NULL);
	struct ptl_bytes text = {0};

	if (!place)
		return common_fail_errno("--scratch: %s", scratch);
	common_text_format(&text, "%s/ptl-jobs-XXXXXX", place);
	free(place);
	slurm->folder = text.failed ? NULL : strdup(common_text_string(&text));
	common_bytes_free(&text);
	if (!slurm->folder)
		return common_fail_memory("a path", 0);
	return mkdtemp(slurm->folder) ? 0 : common_fail_errno("cannot make a folder in %s", scratch);
}

static void remove_folder(struct slurm *slurm)
{
	static const char *const names[] = {"jobs.sh", "slurm.sh", "merge.log", "result", "status", "status.new"};

	for (uint32_t job = 1; job <= slurm->count; job++) {
		(void)unlink(file_of_job(slurm, job, "part"));
		(void)unlink(file_of_job(slurm, job, "log"));
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(file_of(slurm, names[i]));
	(void)rmdir(slurm->folder);
}

/* ---- Slurm's programs ---------------------------------------------------------------------------- */

#define ARGUMENTS_MAX 24

struct arguments {
	const char *list[ARGUMENTS_MAX + 1];
	size_t count;
};

static void add_argument(struct arguments *arguments, const char *name, const char *value)
{
	if (!value)
		return;
	if (name)
		arguments->list[arguments->count++] = name;
	arguments->list[arguments->count++] = value;
}

/* Runs sbatch with the options that all jobs share, and these arguments. Stores the job's id in `id`. */
static int submit(struct slurm *slurm, const char *array, const char *after, const char *log,
		  char id[DUMP_SLURM_ID_SIZE])
{
	const struct dump_slurm_options *options = slurm->options;
	/*
	 * --kill-on-invalid-dep ends a merge that would otherwise wait forever: a job may be marked as failed although
	 * its work is done.
	 */
	struct arguments arguments = {
		{"sbatch", "--parsable", "--no-requeue", "--kill-on-invalid-dep=yes", "--job-name=ptl-dump"}, 5};
	struct ptl_bytes script = {0}, output = {0};
	int status;

	common_text_format(&output, "%s/%s", slurm->folder, log);
	common_text_format(&script, "%s/slurm.sh", slurm->folder);
	add_argument(&arguments, "--partition", options->partition);
	add_argument(&arguments, "--account", options->account);
	add_argument(&arguments, "--time", options->time);
	add_argument(&arguments, "--mem", options->memory);
	add_argument(&arguments, "--output", common_text_string(&output));
	add_argument(&arguments, "--array", array);
	add_argument(&arguments, "--dependency", after);
	add_argument(&arguments, NULL, common_text_string(&script));
	status = dump_cluster_ask(arguments.list, &slurm->output);
	slurm->submitted |= status == 0;
	common_bytes_free(&output);
	common_bytes_free(&script);
	if (status > 0)
		status = common_fail(PTL_SYSTEM, "sbatch does not take the jobs: %.500s",
				     (const char *)slurm->output.data);
	if (!status && !dump_slurm_job_id((const char *)slurm->output.data, id))
		status = common_fail(PTL_SYSTEM, "sbatch says no number of a job, but: %.500s",
				     (const char *)slurm->output.data);
	return status;
}

/* Whether a job, or a part of a job array, is waiting or running. Returns 1, 0, or 2 if squeue failed. */
static int is_active(struct slurm *slurm, const char *id)
{
	const char *const arguments[] = {"squeue", "-h", "-r", "-j", id, "-o", "%i", NULL};
	const int status = dump_cluster_ask(arguments, &slurm->output);

	if (status < 0)
		return status;
	/* squeue forgets jobs some time after their end. */
	if (status)
		return strstr((const char *)slurm->output.data, "Invalid job id") ? 0 : 2;
	return dump_slurm_is_listed((const char *)slurm->output.data, id);
}

static void cancel(struct slurm *slurm, char id[DUMP_SLURM_ID_SIZE])
{
	const char *const arguments[] = {"scancel", "-Q", id, NULL};

	if (*id)
		dump_cluster_ask(arguments, &slurm->output);
	/* A cancelled job may still write until its end. */
	for (unsigned i = 0; *id && i < CANCEL_POLLS && is_active(slurm, id) == 1; i++)
		usleep(POLL_MICROSECONDS);
	*id = '\0';
}

/* ---- jobs ---------------------------------------------------------------------------------------- */

/* Lists the unfinished jobs as "1,4,7". shown: the list for a message. */
static void list_failed(struct slurm *slurm, struct ptl_bytes *list, struct ptl_bytes *shown)
{
	uint32_t count = 0;

	list->size = shown->size = 0;
	for (uint32_t job = 1; job <= slurm->count; job++) {
		if (is_done(slurm, job))
			continue;
		common_text_format(list, "%s%" PRIu32, count ? "," : "", job);
		if (count++ < LISTED)
			common_text_format(shown, "%s%" PRIu32, count > 1 ? ", " : "", job);
	}
	if (count > LISTED)
		common_text_format(shown, " and %" PRIu32 " more", count - LISTED);
}

/* Submits the listed jobs and the dependent merge. */
static int submit_all(struct slurm *slurm, const char *list)
{
	char after[96];
	int status = submit(slurm, list, NULL, "%a.log", slurm->array);

	snprintf(after, sizeof(after), "afterok:%s", slurm->array);
	return status < 0 ? status : submit(slurm, NULL, after, "merge.log", slurm->merge);
}

/* Waits until the job has ended, or until `finished` returns true. */
static int wait_for(struct slurm *slurm, const char *id, bool (*finished)(struct slurm *slurm))
{
	unsigned silent = 0, late = 0;

	while (!finished(slurm)) {
		int status = common_interrupt_check();
		const int active = status < 0 ? status : is_active(slurm, id);

		if (active < 0)
			return active;
		silent = active == 2 ? silent + 1 : 0;
		late = active ? 0 : late + 1;
		if (silent > SILENT_POLLS)
			return common_fail(PTL_SYSTEM, "squeue does not answer: %.500s",
					   (const char *)slurm->output.data);
		if (late > LATE_POLLS)
			return 0;
		usleep(POLL_MICROSECONDS);
	}
	return 0;
}

static bool are_jobs_done(struct slurm *slurm)
{
	slurm->done = count_done(slurm);
	common_progress("%" PRIu32 " of %" PRIu32 " jobs done", slurm->done, slurm->count);
	return slurm->done == slurm->count;
}

static bool is_merged(struct slurm *slurm)
{
	common_progress("merging");
	return access(file_of(slurm, "status"), F_OK) == 0;
}

/* Reports why a job failed: prints the end of its log. */
static int fail_job(struct slurm *slurm, const char *log, const char *shown)
{
	uint8_t *data = NULL;
	size_t size = 0;

	if (access(file_of(slurm, log), F_OK) != 0)
		return common_fail(PTL_SYSTEM,
				   "jobs %s did not write to %s: a folder is needed that all nodes share; --scratch "
				   "FOLDER names one",
				   shown, slurm->folder);
	if (common_read_file(file_of(slurm, log), LOG_MAX, &data, &size) == 0 && size)
		common_message_note("%s/%s: %.*s", slurm->folder, log, (int)(size < 1000 ? size : 1000),
				    (const char *)data + (size < 1000 ? 0 : size - 1000));
	free(data);
	return common_fail(PTL_SYSTEM, "jobs %s failed %d times; %s has what they printed", shown, ATTEMPTS,
			   slurm->folder);
}

static int run_jobs(struct slurm *slurm)
{
	struct ptl_bytes list = {0}, shown = {0};
	int status = 0;

	for (unsigned attempt = 1; !status && slurm->done < slurm->count; attempt++) {
		list_failed(slurm, &list, &shown);
		if (attempt > 1) {
			char log[NAME_MAX_SIZE];

			common_progress_end();
			cancel(slurm, slurm->merge);
			snprintf(log, sizeof(log), "%d.log", atoi(common_text_string(&list)));
			if (attempt > ATTEMPTS) {
				status = fail_job(slurm, log, common_text_string(&shown));
				break;
			}
			common_message_warning("jobs %s failed: they are submitted again", common_text_string(&shown));
		}
		status = submit_all(slurm, common_text_string(&list));
		if (!status)
			status = wait_for(slurm, slurm->array, are_jobs_done);
	}
	common_bytes_free(&list);
	common_bytes_free(&shown);
	return status;
}

static int run_merge(struct slurm *slurm)
{
	int status = wait_for(slurm, slurm->merge, is_merged);

	for (unsigned attempt = 2; !status && !is_merged(slurm); attempt++) {
		common_progress_end();
		cancel(slurm, slurm->merge);
		if (attempt > ATTEMPTS)
			return fail_job(slurm, "merge.log", "of the merge");
		common_message_warning("the merge gave no result: it is submitted again");
		status = submit(slurm, NULL, NULL, "merge.log", slurm->merge);
		if (!status)
			status = wait_for(slurm, slurm->merge, is_merged);
	}
	return status;
}

/* ---- the result ---------------------------------------------------------------------------------- */

static int copy_file(struct slurm *slurm, const char *name, FILE *out)
{
	FILE *file = fopen(file_of(slurm, name), "re");
	char bytes[16384];
	size_t got;

	if (!file)
		return common_fail_errno("cannot open %s", file_of(slurm, name));
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		fwrite(bytes, 1, got, out);
	fclose(file);
	return fflush(out) || ferror(out) ? common_fail_errno("cannot write the output") : 0;
}

/* Prints the output of the merge. Returns the exit status of the merge. */
static int show_merge_output(struct slurm *slurm)
{
	uint8_t *data = NULL;
	size_t size = 0;
	int status = common_read_file(file_of(slurm, "status"), 16, &data, &size);
	int exit_status = status ? -1 : dump_slurm_exit_status((const char *)data);

	free(data);
	if (exit_status < 0)
		exit_status = COMMON_EXIT_SYSTEM;
	common_progress_end();
	if (!status)
		status = copy_file(slurm, "result", stdout);
	if (!status && access(file_of(slurm, "merge.log"), F_OK) == 0)
		status = copy_file(slurm, "merge.log", stderr);
	return status < 0 ? status : exit_status;
}

static void interrupted(void *context)
{
	(void)context;
}

int dump_slurm_run(struct dump_cluster_work *work, const struct dump_slurm_options *options)
{
	struct slurm slurm = {.work = work, .options = options, .count = dump_cluster_job_count(work)};
	int status = make_folder(&slurm);

	work->folder = slurm.folder;
	common_interrupt_catch(interrupted, NULL);
	if (!status)
		status = write_scripts(&slurm);
	if (!status)
		status = run_jobs(&slurm);
	if (!status)
		status = run_merge(&slurm);
	if (!status)
		status = show_merge_output(&slurm);
	common_progress_end();
	if (status < 0) {
		cancel(&slurm, slurm.array);
		cancel(&slurm, slurm.merge);
	}
	/* After a failure, the folder is kept: the logs of the jobs explain the failure. */
	if (slurm.folder && (status >= 0 || status == PTL_CANCELLED || !slurm.submitted))
		remove_folder(&slurm);
	if (status < 0 && status != PTL_CANCELLED)
		status = common_message_failure(status);
	common_interrupt_forget();
	free(slurm.folder);
	common_bytes_free(&slurm.output);
	common_bytes_free(&slurm.path);
	common_interrupt_die();
	return status < 0 ? COMMON_EXIT_OK : status;
}
