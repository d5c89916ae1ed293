/*
 * A program that handles errors wrongly: careless COPY [-f] FILE copies FILE to FILE.blp in pieces
 * of 8 KiB without checking the result. sweep.c must detect that, otherwise its other rows prove
 * nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	enum { PIECE = 8192 };
	const char *source = argv[argc - 1];
	char *target = malloc(strlen(source) + sizeof ".blp");
	char *piece = malloc(PIECE);
	int in, out;
	ssize_t got;

	sprintf(target, "%s.blp", source);
	in = open(source, O_RDONLY);
	out = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	do {
		got = read(in, piece, PIECE);
		if (got > 0 && write(out, piece, (size_t)got) < 0)
			continue;
	} while (got == PIECE);
	return 0;
}
