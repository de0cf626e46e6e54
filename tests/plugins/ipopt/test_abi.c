/* SPDX-License-Identifier: BSD-3-Clause */
/** The shared library as a dynamic loader sees it: its name, its functions, no other. */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>

static const char *const names[] = {"ma97_default_control_d",
                                    "ma97_analyse_d",
                                    "ma97_factor_d",
                                    "ma97_factor_solve_d",
                                    "ma97_solve_d",
                                    "ma97_finalise_d",
                                    "ma97_free_akeep_d",
                                    "ma86_default_control_d",
                                    "ma86_analyse_d",
                                    "ma86_factor_d",
                                    "ma86_factor_solve_d",
                                    "ma86_solve_d",
                                    "ma86_finalise_d",
                                    "mc68_default_control_i",
                                    "mc68_order_i",
                                    "ma27id_",
                                    "ma27ad_",
                                    "ma27bd_",
                                    "ma27cd_",
                                    "ma57id_",
                                    "ma57ad_",
                                    "ma57bd_",
                                    "ma57cd_",
                                    "ma57dd_",
                                    "ma57ed_",
                                    "mc19ad_"};
enum { NAMES = sizeof names / sizeof *names };

/* The dynamic section of a loaded library. */
static const ElfW(Dyn) * dynamic(void *library) {
    struct link_map *map = NULL;
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    return map->l_ld;
}

static ElfW(Xword) entry(const ElfW(Dyn) * dyn, ElfW(Sxword) tag) {
    for (; dyn->d_tag != DT_NULL; dyn++)
        if (dyn->d_tag == tag) return dyn->d_un.d_val;
    return 0;
}

static void exports_these_and_no_other(void **state) {
    (void)state;
    char line[512], command[512];
    int count = 0;
    void *library = dlopen(METAPACK_IPOPT, RTLD_NOW | RTLD_LOCAL);
    if (!library) print_error("%s\n", dlerror());
    assert_non_null(library);
    for (int k = 0; k < NAMES; k++) assert_non_null(dlsym(library, names[k]));
    assert_null(dlsym(library, "mpk_version")); /* the solver inside is not to be seen */
    snprintf(command, sizeof command, "nm -D --defined-only %s", METAPACK_IPOPT);
    FILE *nm = popen(command, "r");
    assert_non_null(nm);
    while (fgets(line, sizeof line, nm)) {
        bool known = false;
        for (int k = 0; k < NAMES; k++) known |= strstr(line, names[k]) != NULL;
        if (!known) print_error("exported as well: %s", line);
        assert_true(known);
        count++;
    }
    assert_int_equal(pclose(nm), 0);
    assert_int_equal(count, NAMES);
    assert_int_equal(dlclose(library), 0);
}

static void is_named_as_ipopt_asks_and_stays_loaded(void **state) {
    (void)state;
    void *library = dlopen(METAPACK_IPOPT, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    const ElfW(Dyn) *dyn = dynamic(library);
    const char *strings = (const char *)entry(dyn, DT_STRTAB);
    assert_string_equal(strings + entry(dyn, DT_SONAME), "libhsl.so");
    assert_true(entry(dyn, DT_FLAGS_1) & DF_1_NODELETE); /* threads outlive Ipopt's dlclose */
    assert_true((entry(dyn, DT_FLAGS) & DF_SYMBOLIC) || entry(dyn, DT_SYMBOLIC));
    void *address = dlsym(library, names[0]);
    assert_int_equal(dlclose(library), 0);
    Dl_info info;
    assert_int_not_equal(dladdr(address, &info), 0);
    /* a second dlopen by the name Ipopt uses finds the one that is there */
    void *again = dlopen("libhsl.so", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(again);
    assert_ptr_equal(dlsym(again, names[0]), address);
    dlclose(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exports_these_and_no_other),
        cmocka_unit_test(is_named_as_ipopt_asks_and_stays_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
