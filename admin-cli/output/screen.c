// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/output/screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static bool is_raw;
static volatile sig_atomic_t ended;

static void screen_on_signal(int number)
{
    (void)number;
    ended = 1;
}

// A window that has changed ends the wait for a key, as that is not restarted.
static void on_resize(int number)
{
    (void)number;
}

void screen_open(void)
{
    struct sigaction action = {.sa_handler = screen_on_signal}, resize = {.sa_handler = on_resize};
    struct termios raw;

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGWINCH, &resize, NULL);
    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

void screen_close(void)
{
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    is_raw = false;
}

struct screen_size screen_size(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
        return (struct screen_size){80, 24};
    return (struct screen_size){size.ws_col, size.ws_row};
}

int screen_key(int seconds)
{
    struct pollfd line = {.fd = is_raw ? STDIN_FILENO : -1, .events = POLLIN};
    char key;

    if (ended)
        return -1;
    if (poll(&line, 1, seconds * 1000) <= 0)
        return ended ? -1 : 0;
    // A terminal that is gone reads as an end.
    return read(STDIN_FILENO, &key, 1) == 1 ? key : -1;
}
