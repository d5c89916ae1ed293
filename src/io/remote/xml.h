/*
 * A small strict reader of the XML that stores of S3 send: elements, attributes passed over, the
 * five named entities and numeric ones. Comments, CDATA, document types and processing instructions
 * but the first are refused. Called by page.c and s3.c.
 */
#ifndef BPK_IO_REMOTE_XML_H
#define BPK_IO_REMOTE_XML_H

#include "base/base.h"

enum {
	BPK_XML_PATH = 128,   /* bytes of the names of open elements, with "/" between them */
	BPK_XML_VALUE = 8192, /* bytes of an element's text, decoded */
};

/* Called at the end of each element. path: "ListBucketResult/Contents/Key"; value: the text behind
 * its last child, or all of it. Both borrowed. Non-zero ends the scan, and is returned. */
typedef int bpk_xml_fn(void *arg, const char *path, const char *value, struct bpk_err *err);

/* Fails with BPK_FAILED, "is not the XML that was expected", also where text ends early; then
 * at_end was called for the elements before. */
int bpk_xml_scan(struct bpk_view text, bpk_xml_fn *at_end, void *arg, struct bpk_err *err);

#endif
