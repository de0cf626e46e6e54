/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of energy: files of Linux's powercap, functions of NVML. */
#define _GNU_SOURCE
#include "energy.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "energy";

enum { PACKAGES = 64, PATH = 384 };

/* A package's counter, which begins anew at `range`. */
typedef struct package {
    char path[PATH];
    double last, range; /* microjoules; last < 0: could not be read */
} package;

/* NVML, as its manual has it: handles are pointers, 0 is success. */
typedef struct nvml {
    void *library, *device;
    int (*energy)(void *device, unsigned long long *millijoules);
    int (*shutdown)(void);
    unsigned long long last;
    bool known; /* last */
} nvml;

struct mpki_meter {
    mpk_context *ctx;
    package *package;
    int packages;
    nvml gpu;
};

/* ---- the processor --------------------------------------------------------------------------- */

static bool read_number(const char *path, double *x) {
    FILE *file = fopen(path, "re");
    const bool read = file && fscanf(file, "%lf", x) == 1;
    if (file) fclose(file);
    return read;
}

/* Zones of whole packages are named intel-rapl:N, of AMD's processors, too; their parts
 * intel-rapl:N:M, and what the same counters say through another interface intel-rapl-mmio:N. */
static bool is_package(const char *name) {
    static const char zone[] = "intel-rapl:";
    if (strncmp(name, zone, sizeof zone - 1) != 0) return false;
    return !strchr(name + sizeof zone - 1, ':');
}

static mpk_status find_packages(mpki_meter *m, const char *root, char *why, size_t size) {
    DIR *folder = opendir(root);
    bool refused = false;
    snprintf(why, size, "%.80s has no counter of a package", root);
    m->package = MPKI_ZNEW(m->ctx, STAGE, PACKAGES, package);
    if (!m->package) {
        if (folder) closedir(folder);
        return mpki_failed(m->ctx);
    }
    for (const struct dirent *e; folder && m->packages < PACKAGES && (e = readdir(folder));) {
        package *p = &m->package[m->packages];
        char range[PATH];
        if (!is_package(e->d_name)) continue;
        snprintf(p->path, PATH, "%.160s/%.160s/energy_uj", root, e->d_name);
        snprintf(range, PATH, "%.160s/%.160s/max_energy_range_uj", root, e->d_name);
        errno = 0;
        if (read_number(p->path, &p->last) && read_number(range, &p->range))
            m->packages++;
        else
            refused |= errno == EACCES;
    }
    if (folder) closedir(folder);
    if (refused) snprintf(why, size, "the counters below %.60s are readable by root alone", root);
    if (m->packages > 0) why[0] = '\0';
    return MPK_OK;
}

/* Joules of all packages, each of which can be read and could be last; else -1. */
static double read_packages(mpki_meter *m) {
    double sum = 0;
    bool known = m->packages > 0;
    for (int k = 0; k < m->packages; k++) {
        package *p = &m->package[k];
        const double last = p->last;
        if (!read_number(p->path, &p->last)) p->last = -1;
        known = known && last >= 0 && p->last >= 0;
        sum += p->last - last + (p->last < last ? p->range : 0);
    }
    return known ? 1e-6 * sum : -1;
}

/* ---- the GPU --------------------------------------------------------------------------------- */

/* What CUDA calls number `gpu`: an index or a UUID of CUDA_VISIBLE_DEVICES. */
static void visible(int gpu, char *out, size_t size) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    snprintf(out, size, "%d", gpu);
    for (; list && gpu > 0; gpu--) {
        list = strchr(list, ',');
        if (list) list++;
    }
    if (list && *list) snprintf(out, size, "%.*s", (int)strcspn(list, ","), list);
}

static bool find_device(nvml *g, int gpu) {
    char name[96], *end;
    int (*by_index)(unsigned, void **);
    int (*by_uuid)(const char *, void **);
    *(void **)&by_index = dlsym(g->library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&by_uuid = dlsym(g->library, "nvmlDeviceGetHandleByUUID");
    visible(gpu, name, sizeof name);
    const unsigned long index = strtoul(name, &end, 10);
    if (end != name && !*end) return by_index && by_index((unsigned)index, &g->device) == 0;
    return by_uuid && by_uuid(name, &g->device) == 0;
}

static void find_gpu(nvml *g, int gpu, char *why, size_t size) {
    int (*init)(void);
    if (gpu < 0) {
        snprintf(why, size, "no GPU was asked for");
        return;
    }
    g->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!g->library) {
        snprintf(why, size, "libnvidia-ml.so.1 cannot be loaded");
        return;
    }
    *(void **)&init = dlsym(g->library, "nvmlInit_v2");
    *(void **)&g->shutdown = dlsym(g->library, "nvmlShutdown");
    *(void **)&g->energy = dlsym(g->library, "nvmlDeviceGetTotalEnergyConsumption");
    const bool begun = init && g->shutdown && init() == 0;
    if (begun && g->energy && find_device(g, gpu) && g->energy(g->device, &g->last) == 0) {
        why[0] = '\0';
        g->known = true;
        return;
    }
    if (begun) g->shutdown();
    dlclose(g->library);
    *g = (nvml){0};
    snprintf(why, size, "%s",
             begun ? "NVML has no counter of energy for this GPU"
                   : "NVML does not start: is there a driver?");
}

static double read_gpu(nvml *g) {
    const unsigned long long last = g->last;
    const bool known = g->known;
    g->known = g->device && g->energy(g->device, &g->last) == 0;
    return known && g->known ? 1e-3 * (double)(g->last - last) : -1;
}

/* ---- both ------------------------------------------------------------------------------------ */

mpk_status mpki_meter_open(mpk_context *ctx, const char *powercap, int gpu, char *no_cpu,
                           char *no_gpu, size_t size, mpki_meter **meter) {
    mpki_meter *m = *meter = MPKI_ZNEW(ctx, STAGE, 1, mpki_meter);
    if (!m) return mpki_failed(ctx);
    m->ctx = ctx;
    const mpk_status status =
        find_packages(m, powercap ? powercap : "/sys/class/powercap", no_cpu, size);
    find_gpu(&m->gpu, gpu, no_gpu, size);
    if (mpk_failed(status)) mpki_meter_close(meter);
    return status;
}

void mpki_meter_read(mpki_meter *m, double *cpu_j, double *gpu_j) {
    *cpu_j = m ? read_packages(m) : -1;
    *gpu_j = m ? read_gpu(&m->gpu) : -1;
}

double mpki_meter_least(const mpki_meter *m) {
    return m && m->gpu.library ? 1 : 0;
}

mpk_status mpki_meter_repeat(mpki_meter *m, double least, mpk_status (*step)(void *data),
                             void *data, double *cpu_j, double *gpu_j, int64_t *runs) {
    mpk_status status;
    mpki_meter_read(m, cpu_j, gpu_j);
    const double began = mpki_now_s();
    *runs = 0;
    do {
        status = step(data);
        ++*runs;
    } while (!mpk_failed(status) && mpki_now_s() - began < least);
    mpki_meter_read(m, cpu_j, gpu_j);
    if (mpk_failed(status)) *cpu_j = *gpu_j = -1;
    if (*cpu_j > 0) *cpu_j /= (double)*runs;
    if (*gpu_j > 0) *gpu_j /= (double)*runs;
    return status;
}

void mpki_meter_close(mpki_meter **meter) {
    mpki_meter *m = *meter;
    if (!m) return;
    if (m->gpu.library) {
        m->gpu.shutdown();
        dlclose(m->gpu.library);
    }
    mpki_release(m->ctx, m->package);
    mpki_release(m->ctx, m);
    *meter = NULL;
}
