/*
 * Internal to layout: FITS, for fits.c, fits_head.c, fits_card.c and fits_table.c. A file is a
 * sequence of header and data units (HDUs): a header of cards of 80 characters, then data, both in
 * whole blocks of 2880 bytes.
 * Source: the FITS Standard, version 4.0: 3.1 and 3.3 (blocks), 4.1 and 4.2 (cards, values), 4.4.1
 * (size keywords), 6 (random groups), 7.2 and 7.3 (tables).
 */
#ifndef BPK_LAYOUT_FITS_H
#define BPK_LAYOUT_FITS_H

#include "layout/member.h"

enum {
	BPK_FITS_BLOCK = 2880,
	BPK_FITS_CARD = 80,
	BPK_FITS_TEXT = 72, /* room for the text of any card, and its NUL */
	BPK_FITS_MAX_FIELDS = 999,
};

/* The kinds of HDU. */
enum bpk_fits_kind {
	BPK_FITS_IMAGE, /* also a primary HDU */
	BPK_FITS_GROUPS,
	BPK_FITS_TABLE, /* text table */
	BPK_FITS_BINTABLE,
	BPK_FITS_OTHER,
};

/* The parsed head of an HDU. */
struct bpk_fits_head {
	enum bpk_fits_kind kind;
	uint64_t cards; /* offset of the first card */
	uint64_t data;  /* offset of the data, after the header's last block */
	uint64_t size;  /* of the data, without the padding of its last block */
	int64_t bitpix;
	size_t naxis;
	uint64_t axes[BPK_ARRAY_MAX_DIMENSIONS]; /* the first changes fastest */
	uint64_t pcount, gcount;
	uint64_t fields;
	char name[BPK_FITS_TEXT]; /* EXTNAME without trailing spaces, not cleaned; or empty */
};

/* ---- Cards ---- */

/*
 * Call visit for each card of a header, up to but excluding END; *end is the offset after its last
 * block. A result other than 0 stops the scan and is returned. Fails with BPK_CORRUPT, or as
 * reading does.
 */
int bpk_fits_scan(struct bpk_source *source, uint64_t offset,
		  int (*visit)(void *arg, const char *card, struct bpk_err *err), void *arg,
		  uint64_t *end, struct bpk_err *err);

/* True if the card's keyword is key, at most 8 characters. */
bool bpk_fits_is(const char *card, const char *key);

/* True if the card's keyword is key followed by a number from 1. */
bool bpk_fits_numbered(const char *card, const char *key, uint64_t *number);

/* The value of a card; false if it has no value of that kind. */
bool bpk_fits_integer(const char *card, int64_t *value);
bool bpk_fits_logical(const char *card, bool *value);
bool bpk_fits_text(const char *card, char value[BPK_FITS_TEXT]);

/* ---- Heads ---- */

/* Read the head of the HDU at offset. Fails with BPK_CORRUPT, BPK_LIMIT, or as reading does. */
int bpk_fits_read_head(struct bpk_source *source, uint64_t offset, struct bpk_fits_head *head,
		       struct bpk_err *err);

/* The type of a binary table's rows; opaque items ("|V16") if the columns do not add up to a row.
 * Reads the cards again. */
int bpk_fits_row_type(struct bpk_source *source, const struct bpk_fits_head *head,
		      struct bpk_dtype *dtype, struct bpk_err *err);

#endif
