/* The log of powerlog.c, which powercuts.c reads: records, each a head and its bytes. */
#ifndef BPK_TESTS_FAULT_POWERLOG_H
#define BPK_TESTS_FAULT_POWERLOG_H

#include <stdint.h>

enum powerlog_kind {
	POWERLOG_FILE,   /* inode: a file's content is now these bytes; time: its mtime */
	POWERLOG_NAMES,  /* all names below the folder: lines "INODE PATH", of folders "0 PATH" */
	POWERLOG_SYNC,   /* inode: a file was synced */
	POWERLOG_FOLDER, /* a folder was synced, whose path below the folder is these bytes */
	POWERLOG_CALL,   /* a call has ended, whose effects are the records before */
};

struct powerlog_record {
	uint64_t kind, inode, size;
	int64_t time; /* ns since 1970 */
};

#endif
