/* SPDX-License-Identifier: BSD-2-Clause */
/* Full buffers are compressed by any thread, and written in the order of submission. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/signals.h"
#include "common/vector.h"
#include "format/writer/writer_internal.h"

#define DEFAULT_LEVEL 3
#define DEFAULT_MEMORY (64u << 20)
#define SPARE_SIZE_MAX (2u << 20)

void format_job_free(struct format_job *job)
{
	if (!job)
		return;
	common_bytes_free(&job->raw);
	format_event_batch_free(&job->batch);
	free(job->psbs);
	free(job->chunks);
	common_bytes_free(&job->file);
	free(job);
}

/* ---- encoding; without the lock -------------------------------------------------------------------- */

/*
 * Bytes of a zstd block. Each block takes at least 4 bytes in the file, which keeps the expansion within the limit of
 * readers.
 */
#define DENSE_PART ((size_t)512)

/*
 * Recompresses events that expand too much. Identical events compress to almost nothing, which a reader would reject as
 * an attack.
 */
static int encode_dense(struct format_job *job, struct format_compressor *compressor, size_t head)
{
	const uint64_t size = (uint64_t)job->file.size;
	const size_t count = job->raw.size / DENSE_PART;
	size_t *splits;
	int status;

	if (job->header.kind != PTL_KIND_EVENTS || job->header.codec == FORMAT_CODEC_RAW ||
	    job->raw.size <= FORMAT_EXPANSION_MAX * size)
		return 0;
	splits = calloc(count + 1, sizeof(*splits));
	if (!splits)
		return common_fail_memory("a buffer", count * sizeof(*splits));
	for (size_t i = 0; i < count; i++)
		splits[i] = (i + 1) * DENSE_PART;
	job->file.size = head;
	status = format_compress(compressor, job->raw.data, job->raw.size, splits, count, &job->file,
				 &job->header.codec);
	free(splits);
	return status;
}

static int encode_payload(struct format_job *job, struct format_compressor *compressor, bool store)
{
	const size_t head = job->file.size;
	struct format_event_splits splits = {.count = 0};
	int status;

	if (job->header.kind == PTL_KIND_EVENTS && job->batch.count)
		format_event_batch_encode(&job->batch, &job->raw, &splits);
	else if (job->header.kind == PTL_KIND_EVENTS && job->again && !store)
		format_event_splits_find(job->raw.data, job->raw.size, job->header.records, &splits);
	if (job->raw.failed)
		return common_fail_memory("a buffer", job->raw.size);
	if (job->raw.size > FORMAT_RAW_MAX)
		return common_fail(PTL_MISUSE, "a buffer of %zu bytes is too large", job->raw.size);
	job->header.raw_size = (uint32_t)job->raw.size;
	if (store) {
		job->header.codec = FORMAT_CODEC_RAW;
		common_write_bytes(&job->file, job->raw.data, job->raw.size);
		return job->file.failed ? common_fail_memory("a buffer", job->raw.size) : 0;
	}
	status = format_compress(compressor, job->raw.data, job->raw.size, splits.at, splits.count, &job->file,
				 &job->header.codec);
	return status ? status : encode_dense(job, compressor, head);
}

/* Encodes the buffer into job->file. */
static int encode_job(struct format_queue *queue, struct format_job *job, struct format_compressor *compressor)
{
	struct format_buffer_header *header = &job->header;
	size_t before;
	int status;

	if (job->file.size && !job->again)
		return 0;
	format_queue_reuse(queue, &job->file);
	format_queue_reuse(queue, &job->raw);
	if (!job->again)
		common_bytes_grow(&job->file, FORMAT_BUFFER_HEADER_SIZE);
	if (job->psb_count)
		format_side_psbs(&job->file, job->psbs, job->psb_count, header->position, header->first_time);
	if (job->chunk_count)
		format_side_chunks(&job->file, job->chunks, job->chunk_count);
	if (job->psb_count || job->chunk_count)
		format_side_finish(&job->file, FORMAT_BUFFER_HEADER_SIZE);
	before = job->file.size;
	if (job->file.failed)
		return common_fail_memory("a buffer", before);
	status = encode_payload(job, compressor, queue->store);
	if (status)
		return status;
	header->side_size = (uint32_t)(before - FORMAT_BUFFER_HEADER_SIZE);
	header->stored_size = (uint32_t)(job->file.size - before);
	header->file_id = queue->output.file_id;
	header->payload_checksum = format_checksum(job->file.data + before, header->stored_size);
	format_buffer_header_encode(header, job->file.data);
	return 0;
}

/* ---- failures; with the lock held ------------------------------------------------------------------ */

static void note_failure(struct format_queue *queue, int status)
{
	const char *colon = strrchr(ptl_error_text(), ':');

	snprintf(queue->cause, sizeof(queue->cause), "%s", colon ? colon + 2 : ptl_error_text());
	if (!queue->first_status) {
		queue->first_status = status;
		snprintf(queue->first_text, sizeof(queue->first_text), "%s", ptl_error_text());
	}
	queue->unreported |= !queue->failing;
	queue->failing = true;
}

static void note_lost(struct format_queue *queue, const struct format_buffer_header *header)
{
	struct format_lost *lost = NULL;

	__atomic_fetch_add(&queue->counts.lost_buffers, 1,
			   __ATOMIC_RELAXED); /* atomic, as format_writer_settle() reads without the lock */
	queue->lost_events += header->kind == PTL_KIND_EVENTS ? header->records : 0;
	for (size_t i = 0; i < queue->lost_count; i++)
		if (queue->lost[i].stream == header->stream)
			lost = &queue->lost[i];
	if (!lost) {
		if (!common_vector_room(&queue->lost, queue->lost_count, sizeof(*lost)))
			return; /* a gap in the sequence numbers still shows the loss */
		lost = &queue->lost[queue->lost_count++];
		*lost = (struct format_lost){.stream = header->stream,
					     .pid = header->pid,
					     .tid = header->tid,
					     .first_time = header->first_time};
	}
	lost->buffers++;
	lost->bytes += header->raw_size;
	if (header->first_time < lost->first_time)
		lost->first_time = header->first_time;
	if (header->last_time > lost->last_time)
		lost->last_time = header->last_time;
}

/* ---- the order of the file ------------------------------------------------------------------------- */

/* Frees a lost job, or keeps the job for a retry. The lock is held. */
static void lose_job(struct format_queue *queue, struct format_job *job)
{
	note_lost(queue, &job->header);
	if (job->header.kind != PTL_KIND_METADATA && job->header.kind != PTL_KIND_BLOB) {
		format_job_free(job);
		return;
	}
	job->next = queue->returned;
	queue->returned = job;
}

/* Keeps memory for reuse, as page faults of fresh memory cost more than copying the data. The lock is held. */
static void keep_memory(struct format_queue *queue, struct ptl_bytes *bytes)
{
	if (!bytes->data || queue->spare_count == FORMAT_SPARE_MAX || bytes->capacity > SPARE_SIZE_MAX)
		return;
	queue->spare[queue->spare_count] = *bytes;
	queue->spare[queue->spare_count++].size = 0;
	*bytes = (struct ptl_bytes){0};
}

void format_queue_reuse(struct format_queue *queue, struct ptl_bytes *bytes)
{
	pthread_mutex_lock(&queue->lock);
	if (!bytes->data && queue->spare_count)
		*bytes = queue->spare[--queue->spare_count];
	pthread_mutex_unlock(&queue->lock);
}

/*
 * Writes finished jobs at the head of the queue, unless another thread does. The lock is held, but released during
 * writing.
 */
static void write_done(struct format_queue *queue)
{
	while (!queue->writing && queue->head && queue->head->state == FORMAT_JOB_DONE) {
		struct format_job *job = queue->head;
		int status = 0;

		queue->writing = true;
		pthread_mutex_unlock(&queue->lock);
		if (job->file.size)
			status = format_output_buffer(&queue->output, job->file.data, job->file.size);
		pthread_mutex_lock(&queue->lock);
		queue->writing = false;
		queue->head = job->next;
		if (!queue->head)
			queue->tail = NULL;
		queue->memory -= job->memory;
		queue->left++;
		if (status)
			note_failure(queue, status);
		if (status || !job->file.size) {
			lose_job(queue, job);
		} else {
			queue->failing = false;
			queue->counts.buffers++;
			keep_memory(queue, &job->file);
			keep_memory(queue, &job->raw);
			format_job_free(job);
		}
		queue->counts.stored_bytes = queue->output.offset;
		pthread_cond_broadcast(&queue->space);
	}
}

/* Encodes a job. An empty job->file means failure. */
static void work_on(struct format_queue *queue, struct format_job *job, struct format_compressor *compressor)
{
	const int status = compressor ? encode_job(queue, job, compressor) : common_fail_memory("compression", 0);

	pthread_mutex_lock(&queue->lock);
	if (status) {
		common_bytes_free(&job->file);
		note_failure(queue, status);
	}
	job->state = FORMAT_JOB_DONE;
	write_done(queue);
	pthread_mutex_unlock(&queue->lock);
}

static void *worker(void *context)
{
	struct format_queue *queue = context;
	struct format_compressor *compressor = format_compressor_new(queue->level);

	pthread_mutex_lock(&queue->lock);
	for (;;) {
		struct format_job *job = queue->fresh;

		if (!job && queue->stop)
			break;
		if (!job) {
			pthread_cond_wait(&queue->work, &queue->lock);
			continue;
		}
		queue->fresh = job->next;
		job->state = FORMAT_JOB_BUSY;
		pthread_mutex_unlock(&queue->lock);
		work_on(queue, job, compressor);
		pthread_mutex_lock(&queue->lock);
	}
	pthread_mutex_unlock(&queue->lock);
	format_compressor_free(compressor);
	return NULL;
}

/* ---- functions for the writer ----------------------------------------------------------------------- */

static void start_threads(struct format_queue *queue, unsigned count)
{
	queue->threads = calloc(count ? count : 1, sizeof(*queue->threads));
	if (!queue->threads)
		return;
	while (queue->thread_count < count &&
	       common_thread_start(&queue->threads[queue->thread_count], NULL, worker, queue) == 0)
		queue->thread_count++;
}

int format_queue_start(struct format_queue *queue, int fd, const struct ptl_writer_options *options)
{
	int status;

	queue->store = options->store;
	queue->level = options->level ? options->level : DEFAULT_LEVEL;
	queue->memory_limit = options->memory_limit ? options->memory_limit : DEFAULT_MEMORY;
	queue->compressor = format_compressor_new(queue->level);
	if (!queue->compressor)
		return common_fail_memory("compression", 0);
	status = format_output_start(&queue->output, fd, options);
	if (status) {
		format_output_free(&queue->output);
		format_compressor_free(queue->compressor);
		return status;
	}
	queue->output.write_back = options->write_back && queue->output.can_rewind;
	queue->counts.stored_bytes = queue->output.offset;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->work, NULL);
	pthread_cond_init(&queue->space, NULL);
	start_threads(queue, options->threads);
	return 0;
}

void format_queue_submit(struct format_queue *queue, struct format_job *job)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->thread_count && queue->memory &&
	       queue->memory + job->memory > common_memory_budget_share(queue->memory_limit))
		pthread_cond_wait(&queue->space, &queue->lock);
	job->next = NULL;
	job->state = FORMAT_JOB_NEW;
	queue->memory += job->memory;
	queue->submitted++;
	if (queue->tail)
		queue->tail->next = job;
	else
		queue->head = job;
	queue->tail = job;
	if (queue->thread_count) {
		if (!queue->fresh)
			queue->fresh = job;
		pthread_cond_signal(&queue->work);
		pthread_mutex_unlock(&queue->lock);
		return;
	}
	pthread_mutex_unlock(&queue->lock);
	work_on(queue, job, queue->compressor);
}

void format_queue_drain(struct format_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->head)
		pthread_cond_wait(&queue->space, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

bool format_queue_reach(struct format_queue *queue, uint64_t jobs, bool wait)
{
	bool reached;

	pthread_mutex_lock(&queue->lock);
	while (wait && queue->left < jobs)
		pthread_cond_wait(&queue->space, &queue->lock);
	reached = queue->left >= jobs;
	pthread_mutex_unlock(&queue->lock);
	return reached;
}

void format_queue_stop(struct format_queue *queue, bool discard)
{
	pthread_mutex_lock(&queue->lock);
	if (discard)
		queue->fresh = NULL;
	queue->stop = true;
	pthread_cond_broadcast(&queue->work);
	pthread_mutex_unlock(&queue->lock);
	for (unsigned i = 0; i < queue->thread_count; i++)
		pthread_join(queue->threads[i], NULL);
	queue->thread_count = 0;
}

static void free_jobs(struct format_job *job)
{
	while (job) {
		struct format_job *next = job->next;

		format_job_free(job);
		job = next;
	}
}

void format_queue_free(struct format_queue *queue)
{
	free_jobs(queue->head);
	while (queue->spare_count)
		common_bytes_free(&queue->spare[--queue->spare_count]);
	free_jobs(queue->returned);
	free(queue->lost);
	free(queue->threads);
	format_compressor_free(queue->compressor);
	format_output_free(&queue->output);
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->work);
	pthread_cond_destroy(&queue->space);
}
