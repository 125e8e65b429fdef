/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads each file once and remembers which of its data are in the trace. */
#include "elf/image_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/hash_map.h"
#include "common/program/message.h"
#include "common/sha256.h"
#include "common/vector.h"
#include "elf/debug_search.h"
#include "elf/file.h"
#include "elf/split_search.h"

/* Limits that bound memory: a larger mapping or debug file is not embedded. */
#define CODE_MAX ((uint64_t)1 << 30)
#define DEBUG_MAX ((uint64_t)1 << 30)

/* Identifies the content of a file without reading the file. */
struct file_key {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t modified;
	int64_t modified_ns;
	int64_t changed;
	int64_t changed_ns;
};

/* Known facts about a file; found by its file_key. */
struct file_entry {
	size_t build_id_size;
	uint8_t build_id[PTL_BUILD_ID_MAX];
	bool is_elf, has_symbols, has_debug;
	bool lacks_symbols, lacks_debug; /* wanted, but not on this machine; symbols: the full symbol table */
	uint8_t symbols[PTL_HASH_SIZE];
	uint8_t debug[PTL_HASH_SIZE];
};

struct lacking {
	struct elf_image_lack lack;
	uint8_t build_id[PTL_BUILD_ID_MAX];
	struct lacking *next;
	char path[];
};

/* A range of a file whose bytes are in the trace; found by file key and range. */
struct piece_key {
	struct file_key file;
	uint64_t offset;
	uint64_t size;
};

struct piece_entry {
	uint64_t default_base;
	bool has_code;
	uint8_t code[PTL_HASH_SIZE];
};

struct elf_image_store {
	enum elf_embed embed;
	struct elf_image_sink sink;
	struct common_byte_map files;  /* file_key -> struct file_entry * */
	struct common_byte_map pieces; /* piece_key -> struct piece_entry * */
	void **entries;                /* all entries of both maps, for freeing */
	size_t entry_count;
	size_t entry_capacity;
	struct lacking *lacking, **lacking_end;
	uint64_t unread;
	uint64_t cut_names;
};

int elf_image_store_new(enum elf_embed embed, const struct elf_image_sink *sink, struct elf_image_store **store)
{
	*store = calloc(1, sizeof(**store));
	if (!*store)
		return common_fail_memory("image store", sizeof(**store));
	(*store)->embed = embed;
	(*store)->sink = *sink;
	(*store)->lacking_end = &(*store)->lacking;
	return 0;
}

void elf_image_store_free(struct elf_image_store *store)
{
	if (!store)
		return;
	for (struct lacking *next; store->lacking; store->lacking = next) {
		next = store->lacking->next;
		free(store->lacking);
	}
	for (size_t i = 0; i < store->entry_count; i++)
		free(store->entries[i]);
	free(store->entries);
	common_byte_map_free(&store->files);
	common_byte_map_free(&store->pieces);
	free(store);
}

uint64_t elf_image_store_unread(const struct elf_image_store *store)
{
	return store->unread;
}

uint64_t elf_image_store_cut_names(const struct elf_image_store *store)
{
	return store->cut_names;
}

/* Returns a zeroed entry that the store owns; NULL without memory. */
static void *new_entry(struct elf_image_store *store, size_t size)
{
	void *entry;

	if (!COMMON_VECTOR_GROW(store->entries, store->entry_capacity, store->entry_count + 1))
		return NULL;
	entry = calloc(1, size);
	if (entry)
		store->entries[store->entry_count++] = entry;
	return entry;
}

static struct file_key key_of(const struct stat *info)
{
	return (struct file_key){
		.device = info->st_dev,
		.inode = info->st_ino,
		.size = (uint64_t)info->st_size,
		.modified = info->st_mtim.tv_sec,
		.modified_ns = info->st_mtim.tv_nsec,
		.changed = info->st_ctim.tv_sec,
		.changed_ns = info->st_ctim.tv_nsec,
	};
}

/* Stores `size` bytes at `offset` of fd in the trace. *done: whether the bytes could be read. */
static int put_range(struct elf_image_store *store, int fd, uint64_t offset, uint64_t size, uint32_t type,
		     uint8_t hash[PTL_HASH_SIZE], bool *done)
{
	uint8_t *bytes = malloc(size ? size : 1);
	int status = 0;

	*done = false;
	if (!bytes)
		return common_fail_memory("a file's bytes", size);
	if (common_read_at(fd, bytes, size, offset) == 0) {
		/* Code that is not embedded gets its hash, too, to identify the file's content. */
		if (store->embed == ELF_EMBED_NONE)
			common_sha256_of(bytes, size, hash);
		else
			status = store->sink.blob(store->sink.context, type, bytes, size, hash);
		*done = status == 0;
	} else {
		store->unread++;
	}
	free(bytes);
	return status;
}

/* Opens the file as ELF; NULL if the file is no ELF file. */
static struct elf_file *open_elf(int fd)
{
	struct elf_file *elf = NULL;

	return elf_open(fd, &elf) < 0 ? NULL : elf;
}

/* Finds and opens the separate debug file of a file, as ELF. *fd is -1 if not found. */
static struct elf_file *open_debug(const struct elf_file *elf, const uint8_t *build_id, size_t build_id_size,
				   const char *path, bool lines, int *fd)
{
	const struct elf_debug_wanted wanted = {
		.build_id = build_id, .build_id_size = build_id_size, .path = path, .file = elf, .lines = lines};

	*fd = elf_debug_search(&wanted);
	return *fd >= 0 ? open_elf(*fd) : NULL;
}

/* Stores the shared file (dwz) that a debug file at `path` (NULL: unknown) refers to. */
static int put_shared(struct elf_image_store *store, const struct elf_file *elf, const char *path)
{
	struct ptl_attachment attachment = {.kind = PTL_ATTACHMENT_SHARED, .pid = PTL_NO_ID};
	const uint8_t *build_id;
	int shared = -1, status = 0;
	struct stat info;
	bool done = false;
	uint8_t *bytes;

	if (elf_debug_shared_link(elf, &bytes, &attachment.name, &build_id, &attachment.id_size)) {
		memcpy(attachment.id, build_id, attachment.id_size);
		shared = elf_debug_search_shared(path, attachment.name, attachment.id, attachment.id_size);
	}
	if (shared >= 0 && fstat(shared, &info) == 0 && (uint64_t)info.st_size <= DEBUG_MAX)
		status = put_range(store, shared, 0, (uint64_t)info.st_size, PTL_BLOB_FILE, attachment.hash, &done);
	if (done)
		status = store->sink.attachment(store->sink.context, &attachment);
	if (shared >= 0)
		close(shared);
	free(bytes);
	return status;
}

static int put_split_file(void *context, const struct elf_split_unit *split, const uint8_t *data, size_t size)
{
	const struct elf_image_store *store = context;
	struct ptl_attachment attachment = {
		.kind = PTL_ATTACHMENT_SPLIT, .pid = PTL_NO_ID, .name = split->name, .id_size = sizeof(split->id)};
	int status = store->sink.blob(store->sink.context, PTL_BLOB_FILE, data, size, attachment.hash);

	common_store64(attachment.id, split->id);
	return status ? status : store->sink.attachment(store->sink.context, &attachment);
}

/* Stores further files that the debug information in fd refers to. */
static int put_referred(struct elf_image_store *store, int fd, const struct elf_file *elf, const char *image)
{
	char path[PATH_MAX];
	const char *const place = elf_debug_place(fd, path) ? path : NULL;
	int status = put_shared(store, elf, place);

	if (!status)
		status = elf_split_each(elf, place, image, DEBUG_MAX, put_split_file, store);
	if (!status && store->embed >= ELF_EMBED_SOURCES && store->sink.sources)
		status = store->sink.sources(store->sink.source_context, fd, image);
	return status;
}

/* Stores the whole file with the DWARF: the ELF file itself, or its separate debug file. */
static int put_debug(struct elf_image_store *store, int fd, const struct elf_file *elf, const char *path,
		     struct file_entry *entry)
{
	struct elf_file *debug = NULL;
	int debug_fd = -1, status = 0;
	struct stat info;

	if (!elf_has_debug(elf)) {
		debug = open_debug(elf, entry->build_id, entry->build_id_size, path, true, &debug_fd);
		fd = debug_fd;
	}
	if (fd >= 0 && fstat(fd, &info) == 0 && (uint64_t)info.st_size <= DEBUG_MAX)
		status = put_range(store, fd, 0, (uint64_t)info.st_size, PTL_BLOB_DEBUG, entry->debug,
				   &entry->has_debug);
	if (!status && entry->has_debug)
		status = put_referred(store, fd, debug ? debug : elf, path);
	entry->lacks_debug = fd < 0;
	elf_close(debug);
	if (debug_fd >= 0)
		close(debug_fd);
	return status;
}

static int put_symbols(struct elf_image_store *store, const struct elf_file *elf, const char *path,
		       struct file_entry *entry)
{
	struct ptl_bytes symbols = {0};
	struct elf_file *debug = NULL;
	uint64_t cut;
	int debug_fd = -1, status;

	if (!elf_has_symtab(elf))
		debug = open_debug(elf, entry->build_id, entry->build_id_size, path, false, &debug_fd);
	entry->lacks_symbols = !debug && !elf_has_symtab(elf);
	status = elf_symbols_counted(elf, debug, &symbols, &cut);
	store->cut_names += cut;
	if (status == PTL_CORRUPT) {
		store->unread++;
		status = 0;
	} else if (status == 0 && symbols.size) {
		status = store->sink.blob(store->sink.context, PTL_BLOB_SYMBOLS, symbols.data, symbols.size,
					  entry->symbols);
		entry->has_symbols = status == 0;
	}
	common_bytes_free(&symbols);
	elf_close(debug);
	if (debug_fd >= 0)
		close(debug_fd);
	return status;
}

static int read_elf(struct elf_image_store *store, int fd, const struct elf_file *elf, const char *path,
		    struct file_entry *entry)
{
	int status = 0;

	entry->is_elf = true;
	entry->build_id_size = elf_build_id(elf, entry->build_id);
	if (store->embed >= ELF_EMBED_SYMBOLS)
		status = put_symbols(store, elf, path, entry);
	if (status == 0 && store->embed >= ELF_EMBED_DEBUG)
		status = put_debug(store, fd, elf, path, entry);
	if (status || !(entry->lacks_symbols || entry->lacks_debug))
		return status;
	return elf_image_store_lack(store, &(struct elf_image_lack){.path = path,
								    .build_id = entry->build_id,
								    .build_id_size = entry->build_id_size,
								    .symbols = entry->lacks_symbols,
								    .debug = entry->lacks_debug,
								    .has_symbols = entry->has_symbols});
}

/* ---- data not found when the file was mapped ----------------------------------------------------- */

int elf_image_store_lack(struct elf_image_store *store, const struct elf_image_lack *lack)
{
	const size_t size = strlen(lack->path) + 1;
	struct lacking *lacking;

	if (!lack->build_id_size || lack->build_id_size > PTL_BUILD_ID_MAX)
		return 0;
	lacking = calloc(1, sizeof(*lacking) + size);
	if (!lacking)
		return common_fail_memory("what a trace lacks", sizeof(*lacking) + size);
	lacking->lack = *lack;
	lacking->lack.path = memcpy(lacking->path, lack->path, size);
	lacking->lack.build_id = memcpy(lacking->build_id, lack->build_id, lack->build_id_size);
	*store->lacking_end = lacking;
	store->lacking_end = &lacking->next;
	return 0;
}

static int attach_blob(struct elf_image_store *store, const struct elf_image_lack *lack, uint32_t kind,
		       const uint8_t hash[PTL_HASH_SIZE])
{
	struct ptl_attachment attachment = {
		.kind = kind, .pid = PTL_NO_ID, .name = lack->path, .id_size = lack->build_id_size};

	memcpy(attachment.hash, hash, PTL_HASH_SIZE);
	memcpy(attachment.id, lack->build_id, lack->build_id_size);
	return store->sink.attachment(store->sink.context, &attachment);
}

/*
 * Attaches the symbols of a file and its debug file, either of which may be NULL. Without the file, only names of the
 * PLT are missing.
 */
static int attach_symbols(struct elf_image_store *store, const struct elf_image_lack *lack, const struct elf_file *elf,
			  const struct elf_file *debug)
{
	struct ptl_bytes symbols = {0};
	uint8_t hash[PTL_HASH_SIZE];
	uint64_t cut;
	int status;

	if (!debug && (!elf || (lack->has_symbols && !elf_has_symtab(elf))))
		return 0;
	status = elf_symbols_counted(elf ? elf : debug, debug, &symbols, &cut);
	store->cut_names += cut;
	if (status == 0 && symbols.size) {
		status = store->sink.blob(store->sink.context, PTL_BLOB_SYMBOLS, symbols.data, symbols.size, hash);
		if (status == 0)
			status = attach_blob(store, lack, PTL_ATTACHMENT_SYMBOLS, hash);
	}
	common_bytes_free(&symbols);
	return status == PTL_CORRUPT ? 0 : status;
}

static int attach_debug(struct elf_image_store *store, const struct elf_image_lack *lack, int fd,
			const struct elf_file *elf)
{
	uint8_t hash[PTL_HASH_SIZE];
	struct stat info;
	bool done = false;
	int status = 0;

	if (elf && elf_has_debug(elf) && fstat(fd, &info) == 0 && (uint64_t)info.st_size <= DEBUG_MAX)
		status = put_range(store, fd, 0, (uint64_t)info.st_size, PTL_BLOB_DEBUG, hash, &done);
	if (status || !done)
		return status;
	status = attach_blob(store, lack, PTL_ATTACHMENT_DEBUG, hash);
	return status ? status : put_referred(store, fd, elf, lack->path);
}

/*
 * Attaches symbols, or debug information if `lines`, from the debug file, or from the file itself if the file has the
 * data.
 */
static int find_in(struct elf_image_store *store, const struct elf_image_lack *lack, int fd, const struct elf_file *elf,
		   bool lines)
{
	struct elf_file *debug = NULL;
	int debug_fd = -1, status;

	if (!elf || !(lines ? elf_has_debug(elf) : elf_has_symtab(elf)))
		debug = open_debug(elf, lack->build_id, lack->build_id_size, lack->path, lines, &debug_fd);
	status = !lines ? attach_symbols(store, lack, elf, debug)
			: attach_debug(store, lack, debug ? debug_fd : fd, debug ? debug : elf);
	elf_close(debug);
	if (debug_fd >= 0)
		close(debug_fd);
	return status;
}

int elf_image_store_find(struct elf_image_store *store)
{
	int status = 0;

	while (store->lacking && !status) {
		struct lacking *lacking = store->lacking;
		const struct elf_image_lack *lack = &lacking->lack;
		struct elf_file *elf = NULL;
		int fd = -1;

		common_progress("looking for symbols of %s", lack->path);
		if (lack->path[0] == '/')
			fd = elf_open_same(lack->path, lack->build_id, lack->build_id_size, &elf);
		if (lack->symbols)
			status = find_in(store, lack, fd, elf, false);
		if (lack->debug && !status)
			status = find_in(store, lack, fd, elf, true);
		elf_close(elf);
		if (fd >= 0)
			close(fd);
		store->lacking = lacking->next;
		free(lacking);
	}
	if (!store->lacking)
		store->lacking_end = &store->lacking;
	common_progress_end();
	return status;
}

/* ---- files ----------------------------------------------------------------------------------------- */

/* Finds or makes the entry of a file. The entry of a file that is no ELF file is empty. */
static int find_file(struct elf_image_store *store, int fd, const struct file_key *key, const struct elf_file *elf,
		     const char *path, struct file_entry **result)
{
	const uint64_t *known = common_byte_map_get(&store->files, key, sizeof(*key));
	struct file_entry *entry;
	int status;

	if (known) {
		*result = (struct file_entry *)(uintptr_t)*known;
		return 0;
	}
	entry = new_entry(store, sizeof(*entry));
	if (!entry)
		return common_fail_memory("image", sizeof(*entry));
	status = elf ? read_elf(store, fd, elf, path, entry) : 0;
	if (status == 0)
		status = common_byte_map_put(&store->files, key, sizeof(*key), (uint64_t)(uintptr_t)entry);
	*result = entry;
	return status;
}

static int read_piece(struct elf_image_store *store, int fd, const struct piece_key *key, const struct elf_file *elf,
		      struct piece_entry *entry)
{
	uint64_t size = key->file.size > key->offset ? key->file.size - key->offset : 0;

	if (size > key->size)
		size = key->size;
	if (!elf || !elf_address(elf, key->offset, &entry->default_base))
		entry->default_base = key->offset;
	if (!size)
		return 0;
	if (size > CODE_MAX) {
		store->unread++;
		return 0;
	}
	return put_range(store, fd, key->offset, size, PTL_BLOB_CODE, entry->code, &entry->has_code);
}

static int find_piece(struct elf_image_store *store, int fd, const struct piece_key *key, const char *path,
		      struct piece_entry **piece, struct file_entry **file)
{
	const uint64_t *known = common_byte_map_get(&store->pieces, key, sizeof(*key));
	struct elf_file *elf;
	int status;

	if (known) {
		*piece = (struct piece_entry *)(uintptr_t)*known;
		return find_file(store, fd, &key->file, NULL, path, file);
	}
	*piece = new_entry(store, sizeof(**piece));
	if (!*piece)
		return common_fail_memory("image", sizeof(**piece));
	elf = open_elf(fd);
	status = read_piece(store, fd, key, elf, *piece);
	if (status == 0)
		status = find_file(store, fd, &key->file, elf, path, file);
	elf_close(elf);
	/* An unreadable piece is not remembered, as a later attempt may succeed. */
	if (status == 0 && ((*piece)->has_code || store->embed == ELF_EMBED_NONE))
		status = common_byte_map_put(&store->pieces, key, sizeof(*key), (uint64_t)(uintptr_t)*piece);
	return status;
}

static void describe_image(const struct piece_entry *piece, const struct file_entry *file,
			   struct ptl_image_event *image)
{
	image->default_base = piece->default_base;
	image->has_code = piece->has_code;
	memcpy(image->code, piece->code, PTL_HASH_SIZE);
	image->build_id_size = file->build_id_size;
	memcpy(image->build_id, file->build_id, file->build_id_size);
	image->has_symbols = file->has_symbols;
	memcpy(image->symbols, file->symbols, PTL_HASH_SIZE);
	image->has_debug = file->has_debug;
	memcpy(image->debug, file->debug, PTL_HASH_SIZE);
}

int elf_image_store_file(struct elf_image_store *store, int fd, const struct stat *info, uint64_t offset, uint64_t size,
			 struct ptl_image_event *image)
{
	struct piece_entry *piece;
	struct file_entry *file;
	struct piece_key key;
	int status;

	memset(&key, 0, sizeof(key));
	key.file = key_of(info);
	key.offset = offset;
	key.size = size;
	status = find_piece(store, fd, &key, image->file_name, &piece, &file);
	if (status == 0)
		describe_image(piece, file, image);
	return status;
}
