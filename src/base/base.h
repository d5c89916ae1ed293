/*
 * The room base: error reports, owned and borrowed bytes, little-endian fields, checked arithmetic,
 * a cursor over untrusted bytes, JSON text, element types, CRCs, queries about the machine, and
 * libraries that are loaded at their first call. Every other room uses it. It may call libc,
 * jansson, and libdeflate, zlib or ISA-L for CRCs; chunks, files and formats are unknown to it.
 */
#ifndef BPK_BASE_H
#define BPK_BASE_H

#include "base/err.h"
#include "base/bytes.h"
#include "base/text.h"
#include "base/unique.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/crc.h"
#include "base/json.h"
#include "base/library.h"
#include "base/memory.h"
#include "base/array.h"
#include "base/msgpack.h"
#include "base/mutex.h"
#include "base/sharing.h"

#endif
