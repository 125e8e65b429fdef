/* SPDX-License-Identifier: BSD-2-Clause */
/* words FILE THREADS [slow]: the program of the pictures counts words in several threads, and sorts the words. */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 64
#define THREADS_MAX 8

struct word {
	struct word *next;
	unsigned count;
	char text[32];
};

struct table {
	struct word *buckets[BUCKETS];
	unsigned words;
};

struct part {
	const char *text;
	size_t size;
	struct table table;
};

static int slow;

static unsigned hash_word(const char *text)
{
	unsigned hash = 5381;

	while (*text)
		hash = hash * 33 + (unsigned char)*text++;
	return slow ? hash % 2 : hash % BUCKETS;
}

static struct word *find_word(struct table *table, const char *text)
{
	struct word *word = table->buckets[hash_word(text)];

	while (word && strcmp(word->text, text) != 0)
		word = word->next;
	return word;
}

static void add_word(struct table *table, const char *text, unsigned count)
{
	struct word *word = find_word(table, text);

	if (!word) {
		const unsigned bucket = hash_word(text);

		word = calloc(1, sizeof(*word));
		if (!word)
			abort();
		snprintf(word->text, sizeof(word->text), "%s", text);
		word->next = table->buckets[bucket];
		table->buckets[bucket] = word;
		table->words++;
	}
	word->count += count;
}

static void *count_part(void *context)
{
	struct part *part = context;
	char text[32];
	size_t length = 0;

	for (size_t i = 0; i < part->size; i++) {
		if (isalnum((unsigned char)part->text[i]) && length + 1 < sizeof(text)) {
			text[length++] = part->text[i];
		} else if (length) {
			text[length] = 0;
			add_word(&part->table, text, 1);
			length = 0;
		}
	}
	return NULL;
}

static void merge_part(struct table *all, const struct table *part)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct word *word = part->buckets[i]; word; word = word->next)
			add_word(all, word->text, word->count);
}

static int compare_words(const void *a, const void *b)
{
	const struct word *const *left = a, *const *right = b;

	return (*left)->count < (*right)->count ? 1 : (*left)->count > (*right)->count ? -1 : 0;
}

static void sort_words(const struct table *table)
{
	struct word **list = calloc(table->words + 1, sizeof(*list));
	unsigned count = 0;

	if (!list)
		abort();
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct word *word = table->buckets[i]; word; word = word->next)
			list[count++] = word;
	qsort(list, count, sizeof(*list), compare_words);
	for (unsigned i = 0; i < count; i++)
		printf("%u %s\n", list[i]->count, list[i]->text);
	free(list);
}

static char *read_text(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	char *text = malloc(1 << 20);

	if (!file || !text)
		exit(1);
	*size = fread(text, 1, 1 << 20, file);
	fclose(file);
	return text;
}

int main(int argc, char **argv)
{
	static struct part parts[THREADS_MAX];
	static struct table all;
	pthread_t threads[THREADS_MAX];
	const unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) % (THREADS_MAX + 1) : 1;
	size_t size = 0;
	char *text;

	if (argc < 2 || !count)
		return 2;
	slow = argc > 3;
	text = read_text(argv[1], &size);
	for (unsigned i = 0; i < count; i++) {
		parts[i].text = text + size / count * i;
		parts[i].size = i + 1 < count ? size / count : size - size / count * i;
		pthread_create(&threads[i], NULL, count_part, &parts[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		merge_part(&all, &parts[i].table);
	}
	sort_words(&all);
	free(text);
	return 0;
}
