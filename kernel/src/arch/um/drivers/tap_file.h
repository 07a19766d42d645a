/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file of the host that the taps write their records to: fixed-size records,
 * buffered, no guest program and no virtual time. Call with interrupts off.
 */
#ifndef __UM_TAP_FILE_H
#define __UM_TAP_FILE_H

#include <linux/init.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <init.h>

struct tap_file {
	char *path;
	int fd, error;
	unsigned int record_bytes, capacity, buffered;
	void *buffer;
};

#define TAP_FILE(bytes, records) { .fd = -1, .record_bytes = (bytes), .capacity = (records) }

int tap_file_open(struct tap_file *file);
void tap_file_write_out(struct tap_file *file);

/* Zeroed. The last record stays in memory until the next one is asked for. */
static inline void *tap_file_record(struct tap_file *file)
{
	if (unlikely(file->buffered == file->capacity))
		tap_file_write_out(file);
	return memset(file->buffer + file->buffered++ * file->record_bytes, 0, file->record_bytes);
}

/* A file below /proc that takes one command a write, and shows what the tap counted. */
struct tap_proc {
	int (*show)(struct seq_file *file, void *unused);
	int (*command)(const char *line);
};

int tap_proc_create(const char *name, struct tap_proc *proc);

/* The kernel's argument, NAME=<file>, that says where on the host the tap's `file` lies. */
#define TAP_PATH(name, words)                                  \
	static int __init tap_path_setup(char *line, int *add) \
	{                                                      \
		*add = 0;                                      \
		file.path = line;                              \
		return 0;                                      \
	}                                                      \
	__uml_setup(name, tap_path_setup, name "<file>\n" words)

#endif
