// SPDX-License-Identifier: MIT OR Apache-2.0
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

void report(const char *format, ...)
{
    char line[1024] = "relayout-guest: ";
    size_t length = strlen(line);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
    va_end(arguments);
    length = strlen(line);
    line[length++] = '\n';

    size_t written = 0;
    while (written < length) {
        ssize_t n = write(STDOUT_FILENO, line + written, length - written);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0)
            written += (size_t)n;
    }
    tcdrain(STDOUT_FILENO);
}
