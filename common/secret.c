// Key files and HMAC-SHA256; the hash itself is nettle's, linked statically so that the client
// library brings no further library into a program.
#include "common/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

static int check_key_file(int fd, const char *path)
{
    struct stat info;

    if (fstat(fd, &info))
        return -errno;
    if (!S_ISREG(info.st_mode)) {
        log_error("key file refused file=%s reason=\"not a regular file\"", path);
        return -EPERM;
    }
    if (info.st_uid != geteuid() && info.st_uid != 0) {
        log_error("key file refused file=%s owner=%u reason=\"owned by another user\"", path,
                  (unsigned)info.st_uid);
        return -EPERM;
    }
    if (info.st_mode & 077) {
        log_error("key file refused file=%s mode=%04o reason=\"must be 0600\"", path,
                  info.st_mode & 07777u);
        return -EPERM;
    }
    return 0;
}

static ssize_t read_all(int fd, uint8_t *data, size_t size)
{
    size_t used = 0;

    while (used < size) {
        ssize_t n = read(fd, data + used, size - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (!n)
            break;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

static int read_key(int fd, const char *path, uint8_t *key, size_t size, size_t *used)
{
    uint8_t extra[2]; // a newline may follow a key of the full size
    int err = check_key_file(fd, path);

    if (err)
        return err;
    ssize_t n = read_all(fd, key, size);
    ssize_t more = n < 0 ? n : read_all(fd, extra, sizeof(extra));
    if (more < 0)
        return (int)more;
    if (more > 1 || (more == 1 && extra[0] != '\n')) {
        log_error("key file refused file=%s reason=\"longer than %zu bytes\"", path, size);
        return -EINVAL;
    }
    if (!more && n && key[n - 1] == '\n')
        n--;
    if (!n) {
        log_error("key file refused file=%s reason=empty", path);
        return -EINVAL;
    }
    *used = (size_t)n;
    return 0;
}

int secret_read_file(const char *path, uint8_t *key, size_t size, size_t *used)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int err;

    if (fd < 0) {
        err = -errno;
        log_error("cannot open key file=%s error=\"%s\"", path, strerror(-err));
        return err;
    }
    err = read_key(fd, path, key, size, used);
    close(fd);
    return err;
}

bool secret_equal(const void *a, const void *b, size_t size)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t difference = 0;

    for (size_t i = 0; i < size; i++)
        difference |= x[i] ^ y[i];
    return !difference;
}

int secret_random(void *data, size_t size)
{
    uint8_t *next = data;

    while (size) {
        ssize_t n = getrandom(next, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        next += n;
        size -= (size_t)n;
    }
    return 0;
}

void secret_clear(void *data, size_t size)
{
    explicit_bzero(data, size);
}

void secret_hmac_sha256(const void *key, size_t key_size, const struct secret_part *parts,
                        size_t part_count, uint8_t out[SECRET_HMAC_BYTES])
{
    struct hmac_sha256_ctx context;

    hmac_sha256_set_key(&context, key_size, key);
    for (size_t i = 0; i < part_count; i++)
        hmac_sha256_update(&context, parts[i].size, parts[i].data);
    hmac_sha256_digest(&context, SECRET_HMAC_BYTES, out);
    secret_clear(&context, sizeof(context));
}
