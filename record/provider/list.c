/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists all programs with providers, without making a session. */
#include "record/provider/list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/json.h"
#include "common/vector.h"
#include "record/proc/proc_files.h"
#include "record/provider/rules.h"
#include "record/provider/session.h"
#include "record/provider/shm_folder.h"
#include "record/provider/shm_process.h"

/* files sorted by pid */
struct listed {
	char text[PROVIDER_SHM_NAME_SIZE];
	struct record_shm_name name;
};

struct listing {
	int folder;
	uint32_t user; /* owner of the folder */
	bool json;
	FILE *file;
	struct common_json out;
	struct listed *files;
	size_t count;
	size_t capacity;
	struct provider_shm_session_file sessions[PTL_SESSIONS_MAX]; /* id 0: no session */
	size_t shown;
};

static int add_writer(void *context, const char *text, const struct record_shm_name *name)
{
	struct listing *listing = context;
	struct listed *file;

	if (name->kind != RECORD_SHM_PROCESS)
		return 0;
	if (COMMON_VECTOR_RESERVE(listing->files, listing->capacity, listing->count + 1, "programs"))
		return PTL_NO_MEMORY;
	file = &listing->files[listing->count++];
	snprintf(file->text, sizeof(file->text), "%s", text);
	file->name = *name;
	return 0;
}

static int compare_writers(const void *a, const void *b)
{
	const struct record_shm_name *x = &((const struct listed *)a)->name;
	const struct record_shm_name *y = &((const struct listed *)b)->name;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static void read_sessions(struct listing *listing)
{
	bool alive;

	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++)
		if (record_provider_session_read(listing->folder, slot, &listing->sessions[slot], &alive) < 0 || !alive)
			listing->sessions[slot].session.id = 0;
}

/* Returns the living session that turned the entry on in this slot; NULL without. */
static const struct provider_shm_session *session_of(const struct listing *listing,
						     const struct record_shm_entry *entry, unsigned slot)
{
	const struct provider_shm_session *session = &listing->sessions[slot].session;

	return entry->enabled.sessions & 1u << slot && session->id && session->id == entry->enabled.slots[slot].session
		       ? session
		       : NULL;
}

/* ---- text ------------------------------------------------------------------------------------- */

/* Prints an untrusted name of a program, with '?' for control characters. */
static void print_name(FILE *file, const char *name)
{
	for (; *name; name++)
		fputc((unsigned char)*name < ' ' || *name == 127 ? '?' : *name, file);
}

static bool has_group(const struct record_shm_provider *provider)
{
	return !common_guid_equal(&provider->group, &(struct ptl_guid){{0}});
}

static void print_entry(const struct listing *listing, const struct record_shm_provider *provider,
			const struct record_shm_entry *entry)
{
	char guid[PTL_GUID_TEXT_SIZE];
	bool any = false;

	common_guid_format(&provider->guid, guid);
	fprintf(listing->file, "  %s  ", guid);
	print_name(listing->file, provider->name);
	if (has_group(provider)) {
		common_guid_format(&provider->group, guid);
		fprintf(listing->file, "  group %s", guid);
	}
	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++) {
		const struct provider_shm_session *session = session_of(listing, entry, slot);
		const struct ptl_enabled_session *words = &entry->enabled.slots[slot];
		const char *level = record_level_name(words->level);

		if (!session)
			continue;
		fprintf(listing->file, "%s", any ? ", " : "  on: ");
		print_name(listing->file, session->name);
		if (*level)
			fprintf(listing->file, " (level %s", level);
		else
			fprintf(listing->file, " (level %u", words->level);
		if (words->keywords == UINT64_MAX)
			fprintf(listing->file, ", all keywords)");
		else
			fprintf(listing->file, ", keywords 0x%llx)", (unsigned long long)words->keywords);
		any = true;
	}
	fprintf(listing->file, "%s\n", any ? "" : "  off");
}

static void print_text(struct listing *listing, struct record_shm_process *process)
{
	struct record_shm_entry entry;
	bool any = false;

	for (uint32_t n = 0; n < process->provider_count; n++) {
		if (!record_shm_process_entry(process, n, &entry) || entry.state != PROVIDER_SHM_REGISTERED)
			continue;
		if (!any) {
			fprintf(listing->file, "%u  ", process->pid);
			print_name(listing->file, process->program);
			if (listing->user != geteuid())
				fprintf(listing->file, "  (user %u)", listing->user);
			fprintf(listing->file, "\n");
		}
		any = true;
		print_entry(listing, &process->providers[n], &entry);
	}
	listing->shown += any;
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void write_sessions(struct listing *listing, const struct record_shm_entry *entry)
{
	common_json_array(&listing->out, "sessions");
	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++) {
		const struct provider_shm_session *session = session_of(listing, entry, slot);

		if (!session)
			continue;
		common_json_object(&listing->out, NULL);
		common_json_string(&listing->out, "name", session->name);
		common_json_u64(&listing->out, "recorder", session->recorder);
		common_json_u64(&listing->out, "level", entry->enabled.slots[slot].level);
		common_json_hex(&listing->out, "keywords", entry->enabled.slots[slot].keywords);
		common_json_object_end(&listing->out);
	}
	common_json_array_end(&listing->out);
}

static void write_entry(struct listing *listing, const struct record_shm_provider *provider,
			const struct record_shm_entry *entry)
{
	char guid[PTL_GUID_TEXT_SIZE];

	common_guid_format(&provider->guid, guid);
	common_json_object(&listing->out, NULL);
	common_json_string(&listing->out, "name", provider->name);
	common_json_string(&listing->out, "guid", guid);
	if (has_group(provider)) {
		common_guid_format(&provider->group, guid);
		common_json_string(&listing->out, "group", guid);
	}
	write_sessions(listing, entry);
	common_json_object_end(&listing->out);
}

static void print_json(struct listing *listing, struct record_shm_process *process)
{
	struct record_shm_entry entry;

	common_json_object(&listing->out, NULL);
	common_json_u64(&listing->out, "pid", process->pid);
	common_json_string(&listing->out, "program", process->program);
	common_json_u64(&listing->out, "user", listing->user);
	common_json_array(&listing->out, "providers");
	for (uint32_t n = 0; n < process->provider_count; n++)
		if (record_shm_process_entry(process, n, &entry) && entry.state == PROVIDER_SHM_REGISTERED)
			write_entry(listing, &process->providers[n], &entry);
	common_json_array_end(&listing->out);
	common_json_object_end(&listing->out);
	common_json_line(&listing->out);
	listing->shown++;
}

/* ---- all -------------------------------------------------------------------------------------- */

/* A program of another user may claim any pid. */
static bool is_users(const struct listing *listing, uint32_t pid)
{
	uint32_t own_pid, user;

	return listing->user == geteuid() || (record_proc_identity(pid, &own_pid, &user) && user == listing->user);
}

static int show_writer(struct listing *listing, const char *text)
{
	struct record_shm_process process;
	int status = record_shm_process_open(listing->folder, text, false, &process);

	/* Skips files that vanished, or that are invalid. */
	if (status < 0)
		return status == PTL_NO_MEMORY ? status : 0;
	if (is_users(listing, process.pid) && !record_shm_has_ended(process.pid, &process.info)) {
		record_shm_process_look(&process);
		if (listing->json)
			print_json(listing, &process);
		else
			print_text(listing, &process);
	}
	record_shm_process_close(&process);
	return 0;
}

/* Closes the folder. */
static int list_writers(struct listing *listing, int folder, uint32_t user)
{
	int status;

	listing->folder = folder;
	listing->user = user;
	listing->count = 0;
	status = record_shm_list(folder, add_writer, listing);
	read_sessions(listing);
	if (listing->count)
		qsort(listing->files, listing->count, sizeof(*listing->files), compare_writers);
	for (size_t i = 0; status == 0 && i < listing->count; i++)
		status = show_writer(listing, listing->files[i].text);
	close(folder);
	return status;
}

static int list_other(void *context, uint32_t user)
{
	char path[RECORD_SHM_PATH_SIZE];
	int folder;

	return record_shm_open_user(user, path, &folder) == 0 ? list_writers(context, folder, user) : 0;
}

int record_provider_list(bool json, FILE *file)
{
	struct listing *listing = calloc(1, sizeof(*listing));
	char path[RECORD_SHM_PATH_SIZE];
	int folder, status;

	if (!listing)
		return common_fail_memory("list", sizeof(*listing));
	listing->json = json;
	listing->file = file;
	common_json_start(&listing->out, file);
	status = record_shm_open(false, path, &folder);
	if (status == 0)
		status = list_writers(listing, folder, geteuid());
	if (status == PTL_NOT_FOUND)
		status = 0;
	if (status == 0 && record_shm_sees_all())
		status = record_shm_users(list_other, listing);
	if (status == 0 && !json && !listing->shown)
		fprintf(file, record_shm_sees_all() ? "no program has a provider\n"
						    : "no program of this user has a provider\n");
	free(listing->files);
	free(listing);
	return status;
}
