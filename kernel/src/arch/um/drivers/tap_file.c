// SPDX-License-Identifier: GPL-2.0
/*
 * What the taps write with and are told by, see tap_file.h.
 *
 * Why: both taps need the same files, and neither may lose a record in silence.
 */

#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/uaccess.h>
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

static ssize_t tap_proc_write(struct file *file, const char __user *text, size_t size, loff_t *pos)
{
	const struct tap_proc *proc = pde_data(file_inode(file));
	char line[64];

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, text, size))
		return -EFAULT;
	line[size] = '\0';
	return proc->command(line) ?: size;
}

static int tap_proc_open(struct inode *inode, struct file *file)
{
	const struct tap_proc *proc = pde_data(inode);

	return single_open(file, proc->show, NULL);
}

static const struct proc_ops tap_proc_ops = {
	.proc_open = tap_proc_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_write = tap_proc_write,
	.proc_release = single_release,
};

int __init tap_proc_create(const char *name, struct tap_proc *proc)
{
	return proc_create_data(name, 0600, NULL, &tap_proc_ops, proc) ? 0 : -ENOMEM;
}
