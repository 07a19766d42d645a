// SPDX-License-Identifier: GPL-2.0
/*
 * What the taps write with, see tap_file.h.
 *
 * Why: both taps need the same file, and neither may lose a record in silence.
 */

#include <linux/errno.h>
#include <linux/vmalloc.h>
#include <os.h>
#include "tap_file.h"

int tap_file_open(struct tap_file *file)
{
	if (file->fd >= 0)
		return 0;
	if (!file->path)
		return -ENOENT;
	file->buffer = vmalloc(file->capacity * file->record_bytes);
	if (!file->buffer)
		return -ENOMEM;
	file->fd = os_open_file(file->path, of_trunc(of_create(of_write(OPENFLAGS()))), 0644);
	return file->fd < 0 ? file->fd : 0;
}

/* The host's file system is not part of the guest: a full disk must not look like a packet loss. */
void tap_file_write_out(struct tap_file *file)
{
	int size = file->buffered * file->record_bytes, done = 0, n;

	while (!file->error && done < size) {
		n = os_write_file(file->fd, file->buffer + done, size - done);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			file->error = n ? n : -EIO;
		else
			done += n;
	}
	file->buffered = 0;
}
