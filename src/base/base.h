/*
 * The room base: what every other room stands on, and nothing about chunks, files or formats.
 * Error reports, owned and borrowed bytes, little-endian fields, checked arithmetic, a cursor over
 * untrusted bytes, JSON text, types of elements, and what the machine offers. It may call libc and
 * jansson only.
 */
#ifndef BPK_BASE_H
#define BPK_BASE_H

#include "base/error.h"
#include "base/bytes.h"
#include "base/text.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/cpu.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/array.h"
#include "base/msgpack.h"
#include "base/mutex.h"

#endif
