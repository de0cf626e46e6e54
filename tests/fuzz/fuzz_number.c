/* SPDX-License-Identifier: BSD-3-Clause */
/** Any token as a number: what we read is what strtod reads, to the last bit. */
#include "fuzz.h"

#include "problem/number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[600 + MPKI_NUMBER_SLACK], plain[600], *stop;
    if (size >= sizeof plain) return 0;
    for (size_t k = 0; k < size; k++)
        if (!data[k] || mpki_ends_token((char)data[k])) return 0;
    memset(text, '3', sizeof text);
    memcpy(text, data, size);
    text[size] = '\n';
    memcpy(plain, data, size);
    plain[size] = '\0';
    for (size_t k = 0; k < size; k++)
        if (plain[k] == 'd' || plain[k] == 'D') plain[k] = 'e';
    const char *p = text;
    double ours = 0;
    if (!mpki_read_real(&p, &ours)) {
        FUZZ_ASSERT(p == text);
        return 0;
    }
    FUZZ_ASSERT(p == text + size);
    if (isnan(ours)) return 0;
    double theirs = strtod(plain, &stop);
    FUZZ_ASSERT(*stop == '\0' && !memcmp(&ours, &theirs, sizeof ours));
    return 0;
}
