/*
 * FITS: images, tables, random groups, names, and invalid headers.
 */
#include "unit/layout-bytes.h"

#include <stdio.h>

enum { BLOCK = 2880, CARD = 80 };

/* Cards, one string each, up to NULL; then END, and spaces to the end of the block. */
static void put_cards(struct bpk_buf *file, const char *const *cards)
{
	char card[CARD + 1];

	for (; *cards != NULL; cards++) {
		snprintf(card, sizeof card, "%-80s", *cards);
		put(file, card, CARD);
	}
	snprintf(card, sizeof card, "%-80s", "END");
	put(file, card, CARD);
	while (file->size % BLOCK != 0)
		put(file, " ", 1);
}

static void put_data(struct bpk_buf *file, size_t size)
{
	for (size_t i = 0; i < size; i++)
		put_le(file, i, 1);
	while (file->size % BLOCK != 0)
		put_le(file, 0, 1);
}

#define SIMPLE "SIMPLE  =                    T / it is"
#define NONE   SIMPLE, "BITPIX  =                    8", "NAXIS   =                    0"

static void put_primary(struct bpk_buf *file)
{
	put_cards(file, (const char *const[]){ NONE, "EXTEND  =                    T", NULL });
}

static void test_bitpix(void **state)
{
	static const struct {
		int bitpix;
		size_t size;
		const char *type; /* NULL: plain bytes */
	} rows[] = {
		{ 8, 1, "|u1" },   { 16, 2, ">i2" },  { 32, 4, ">i4" }, { 64, 8, ">i8" },
		{ -32, 4, ">f4" }, { -64, 8, ">f8" }, { 24, 3, NULL },  { 0, 1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;
		char bitpix[CARD];

		snprintf(bitpix, sizeof bitpix, "BITPIX  = %20d / bits", rows[i].bitpix);
		put_cards(&file,
			  (const char *const[]){ SIMPLE, bitpix, "NAXIS   =                    3",
						 "NAXIS1  =                    2", "NAXIS2  = 3",
						 "NAXIS3  =                    4/", NULL });
		put_data(&file, 24 * rows[i].size);
		open_buf(&file, &opened);
		if (rows[i].type != NULL) {
			expect_array(&opened, 0, "hdu0", rows[i].type, (uint64_t[]){ 4, 3, 2 }, 3,
				     BLOCK);
			assert_string_equal(bpk_layout_info(opened.layout)->kind, "fits");
			assert_int_equal(bpk_layout_info(opened.layout)->narrays, 1);
			assert_null(bpk_layout_info(opened.layout)->damage);
		} else if (opened.layout != NULL) {
			fail_msg("BITPIX %d is taken", rows[i].bitpix);
		}
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

static const char *const table[] = {
	"XTENSION= 'BINTABLE'",
	"BITPIX  =                    8",
	"NAXIS   =                    2",
	"NAXIS1  =                   66",
	"NAXIS2  =                    3",
	"PCOUNT  =                   17 / a heap",
	"GCOUNT  =                    1",
	"TFIELDS =                   11",
	"TTYPE1  = 'TIME    '",
	"TFORM1  = '1D      '",
	"TFORM2  = 'J'",
	"TTYPE3  = 'it''s a name'",
	"TFORM3  = '5A      '",
	"TTYPE4  = 'POS'",
	"TFORM4  = '3E'",
	"TTYPE5  = 'EMPTY'",
	"TFORM5  = '0E'",
	"TTYPE6  = 'BITS'",
	"TFORM6  = '10X'",
	"TTYPE7  = 'POS'",
	"TFORM7  = 'L'",
	"TTYPE8  = 'LIST'",
	"TFORM8  = '1PJ(9)'",
	"TTYPE9  = 'C'",
	"TFORM9  = 'C'",
	"TTYPE10 = 'SHORT'",
	"TFORM10 = '1I'",
	"TFORM11 = '2K'",
	"EXTNAME = 'EVENTS  '           / a name",
	NULL,
};

static void test_table(void **state)
{
	struct bpk_buf file = { 0 };
	struct opened opened;

	(void)state;
	put_primary(&file);
	put_cards(&file, table);
	put_data(&file, 66 * 3 + 17);
	open_buf(&file, &opened);
	expect_array(&opened, 0, "EVENTS",
		     "[('TIME', '>f8'), ('col2', '>i4'), (\"it's a name\", '|S5'), "
		     "('POS', '>f4', (3,)), ('BITS', '|u1', (2,)), ('POS#2', '|S1'), "
		     "('LIST', '>i4', (2,)), ('C', '>c8'), ('SHORT', '>i2'), "
		     "('col11', '>i8', (2,))]",
		     (uint64_t[]){ 3 }, 1, 2 * BLOCK);
	assert_null(bpk_layout_info(opened.layout)->damage);
	close_bytes(&opened);
	/* columns that do not fill the row, and an unknown form: opaque items */
	file.data[BLOCK + 10 * CARD + 11] = 'I';
	open_buf(&file, &opened);
	expect_array(&opened, 0, "EVENTS", "|V66", (uint64_t[]){ 3 }, 1, 2 * BLOCK);
	close_bytes(&opened);
	file.data[BLOCK + 10 * CARD + 11] = '?';
	open_buf(&file, &opened);
	expect_array(&opened, 0, "EVENTS", "|V66", (uint64_t[]){ 3 }, 1, 2 * BLOCK);
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

static const char *const extensions[][10] = {
	{ "XTENSION= 'IMAGE   '", "BITPIX  =                  -32",
	  "NAXIS   =                    1", "NAXIS1  =                    5",
	  "PCOUNT  =                    0", "GCOUNT  =                    1", "EXTNAME = 'SCI'",
	  NULL },
	{ "XTENSION= 'TABLE   '", "BITPIX  =                    8",
	  "NAXIS   =                    2", "NAXIS1  =                   10",
	  "NAXIS2  =                    4", "PCOUNT  =                    0",
	  "GCOUNT  =                    1", "TFIELDS =                    0", NULL },
	{ "XTENSION= 'IMAGE   '", "BITPIX  =                   16",
	  "NAXIS   =                    0", "PCOUNT  =                    0",
	  "GCOUNT  =                    1", NULL },
	{ "XTENSION= 'IMAGE   '", "BITPIX  =                   16",
	  "NAXIS   =                    2", "NAXIS1  =                    0",
	  "NAXIS2  =                    7", "PCOUNT  =                    0",
	  "GCOUNT  =                    1", "EXTNAME = 'SCI'", NULL },
	{ "XTENSION= 'FOREIGN '", "BITPIX  =                   16",
	  "NAXIS   =                    1", "NAXIS1  =                    5",
	  "PCOUNT  =                    2", "GCOUNT  =                    3", "EXTNAME = '   '",
	  NULL },
};

static void put_extensions(struct bpk_buf *file)
{
	static const size_t sizes[] = { 20, 40, 0, 0, 42 };

	put_primary(file);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		put_cards(file, extensions[i]);
		put_data(file, sizes[i]);
	}
}

static void test_extensions(void **state)
{
	struct bpk_buf file = { 0 };
	struct opened opened;

	(void)state;
	put_extensions(&file);
	open_buf(&file, &opened);
	expect_array(&opened, 0, "SCI", ">f4", (uint64_t[]){ 5 }, 1, 2 * BLOCK);
	expect_array(&opened, 1, "hdu2", "|S10", (uint64_t[]){ 4 }, 1, 4 * BLOCK);
	expect_array(&opened, 2, "SCI#2", ">i2", (uint64_t[]){ 7, 0 }, 2, 7 * BLOCK);
	expect_array(&opened, 3, "hdu5", "|u1", (uint64_t[]){ 42 }, 1, 8 * BLOCK);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 4);
	assert_null(bpk_layout_info(opened.layout)->damage);
	close_bytes(&opened);
	/* without the padding of the last block */
	open_bytes(file.data, 8 * BLOCK + 42, &opened);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 4);
	assert_null(bpk_layout_info(opened.layout)->damage);
	close_bytes(&opened);
	open_bytes(file.data, 8 * BLOCK + 41, &opened);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 3);
	assert_string_equal(bpk_layout_info(opened.layout)->damage,
			    "hdu 5: data has 42 bytes, 41 are there");
	close_bytes(&opened);
	put_text(&file, "XTENS");
	open_buf(&file, &opened);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 4);
	assert_non_null(bpk_layout_info(opened.layout)->damage);
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

static void test_groups(void **state)
{
	struct bpk_buf file = { 0 };
	struct opened opened;

	(void)state;
	put_cards(&file, (const char *const[]){
				 SIMPLE, "BITPIX  =                  -32",
				 "NAXIS   =                    3", "NAXIS1  =                    0",
				 "NAXIS2  =                    2", "NAXIS3  =                    3",
				 "GROUPS  =                    T", "PCOUNT  =                    5",
				 "GCOUNT  =                    4", NULL });
	put_data(&file, 4 * 4 * 11);
	open_buf(&file, &opened);
	expect_array(&opened, 0, "hdu0", ">f4", (uint64_t[]){ 4, 11 }, 2, BLOCK);
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

static void test_refused(void **state)
{
	static const char *const heads[][6] = {
		{ SIMPLE, NULL },
		{ SIMPLE, "BITPIX  =                    8", "NAXIS   =                    1",
		  NULL },
		{ SIMPLE, "BITPIX  =                    8", "NAXIS   =                  -1", NULL },
		{ SIMPLE, "BITPIX  =                    8", "NAXIS   =                  33", NULL },
		{ SIMPLE, "BITPIX  =                    8", "NAXIS   =                   1",
		  "NAXIS1  =                  1.5", NULL },
		{ SIMPLE, "BITPIX  =                   64", "NAXIS   =                   2",
		  "NAXIS1  =  9223372036854775807", "NAXIS2  =  9223372036854775807", NULL },
		{ SIMPLE, "BITPIX  =                   64", "NAXIS   =                   1",
		  "NAXIS1  = 99223372036854775807", NULL },
		{ SIMPLE, "BITPIX  =                    8", "NAXIS   =                    1",
		  "NAXIS1  =                 2881", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;

		put_cards(&file, heads[i]);
		put_data(&file, BLOCK);
		open_buf(&file, &opened);
		if (opened.layout != NULL)
			fail_msg("head %zu is taken", i);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

/* Every bit of the characters in these cards, one bit of each space, and cuts around every card. */
static void flip(struct bpk_buf *file, size_t from, size_t cards)
{
	for (size_t at = from; at < from + cards * CARD; at++) {
		bool space = file->data[at] == ' ';

		for (int bit = space ? 4 : 0; bit < (space ? 5 : 8); bit++) {
			file->data[at] ^= (uint8_t)(1u << bit);
			try_bytes(file->data, file->size);
			file->data[at] ^= (uint8_t)(1u << bit);
		}
	}
	for (size_t size = 0; size <= file->size; size += size % CARD == CARD - 1 ? 1 : 13)
		try_bytes(file->data, size);
}

static void test_hostile(void **state)
{
	struct bpk_buf file = { 0 };

	(void)state;
	put_primary(&file);
	put_cards(&file, table);
	put_data(&file, 66 * 3 + 17);
	flip(&file, 0, 4);
	flip(&file, BLOCK, 30);
	bpk_buf_clear(&file);
	put_extensions(&file);
	for (size_t i = 1; i < 8; i++)
		flip(&file, i * BLOCK, 9);
	bpk_buf_clear(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bitpix),     cmocka_unit_test(test_table),
		cmocka_unit_test(test_extensions), cmocka_unit_test(test_groups),
		cmocka_unit_test(test_refused),    cmocka_unit_test(test_hostile),
	};

	return UNIT_RUN(tests);
}
