// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// printf of images: a text is made on the lane's stack, and put behind what its core has printed, in one piece.
#include <vx_print.h>
#include <vx_spawn.h>

#define TEXT_BYTES 512

struct text {
    uint32_t used;
    char bytes[TEXT_BYTES];
};

struct form {
    int left, sign, zero, alternate, width, precision;
};

static void add(struct text *text, char c) {
    if (text->used < TEXT_BYTES) text->bytes[text->used] = c;
    text->used++;
}

static void print(const struct text *text) {
    char *printed = (char *)eddy_vx_state(STATE_PRINTED);
    uint32_t size = text->used < TEXT_BYTES ? text->used : TEXT_BYTES;
    uint32_t at = __atomic_fetch_add((uint32_t *)printed, size, __ATOMIC_RELAXED);
    for (uint32_t k = 0; k < size; k++)
        if (at + k < PRINTED_BYTES - 4) printed[4 + at + k] = text->bytes[k];
}

// What comes before a number, then its digits, which are given from the last one on.
static void add_field(struct text *text, const struct form *form, const char *head, const char *digits, int count) {
    int heads = 0;
    while (head[heads]) heads++;
    int fill = form->width - heads - count;
    if (!form->left && !form->zero) for (; fill > 0; fill--) add(text, ' ');
    for (int k = 0; k < heads; k++) add(text, head[k]);
    if (!form->left) for (; fill > 0; fill--) add(text, '0');
    while (count--) add(text, digits[count]);
    for (; fill > 0; fill--) add(text, ' ');
}

static void add_whole(struct text *text, struct form form, uint64_t value, int negative, uint32_t base, int upper) {
    char digits[72], head[4];
    int count = 0, heads = 0, least = form.precision < 0 ? 1 : form.precision > 64 ? 64 : form.precision;
    if (form.precision >= 0) form.zero = 0;
    if (negative) head[heads++] = '-';
    else if (form.sign) head[heads++] = (char)form.sign;
    if (form.alternate && base == 16 && value) head[heads++] = '0', head[heads++] = upper ? 'X' : 'x';
    head[heads] = 0;
    for (; value || count < least; value /= base) {
        uint32_t digit = (uint32_t)(value % base);
        digits[count++] = (char)(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
    }
    add_field(text, &form, head, digits, count);
}

// Decimal digits of a finite value, by the binary number times or over powers of ten in doubles: 15 of them are right.
static void add_real(struct text *text, struct form form, double value, char kind) {
    char digits[96], head[2] = {0, 0}, how = (char)(kind | 32);
    union { double d; uint64_t u; } raw = {value};
    int count = 0, precision = form.precision < 0 ? 6 : form.precision > 40 ? 40 : form.precision, exponent = 0;
    if (raw.u >> 63) head[0] = '-';
    else head[0] = (char)form.sign;
    raw.u &= ~0ull >> 1;
    if (raw.u >= 0x7ffull << 52) {
        form.zero = 0;
        add_field(text, &form, head, raw.u == 0x7ffull << 52 ? "fni" : "nan", 3);
        return;
    }
    double x = raw.d;
    if (x > 0 && (how != 'f' || x >= 1e17)) {
        while (x >= 10) x /= 10, exponent++;
        while (x < 1) x *= 10, exponent--;
    }
    int scientific = how == 'e' || (how == 'g' && (exponent < -4 || exponent >= (precision ? precision : 1)));
    if (how == 'g') precision = scientific ? (precision ? precision - 1 : 0) : (precision ? precision : 1) - 1 - exponent;
    if (!scientific && how != 'f') x = raw.d;
    int zeros = !scientific && how == 'f' && raw.d >= 1e17 ? exponent - 16 : 0;
    for (int k = 0; zeros && k < 16; k++) x *= 10;
    double half = 0.5;
    for (int k = 0; k < precision && !zeros; k++) half /= 10;
    x += half;
    if (scientific && x >= 10) x /= 10, exponent++;
    uint64_t whole = (uint64_t)x;
    double rest = x - (double)whole;
    char fraction[48];
    int places = 0;
    for (; places < precision; places++) {
        rest = zeros ? 0 : rest * 10;
        int digit = (int)rest;
        fraction[places] = (char)('0' + digit);
        rest -= digit;
    }
    while (how == 'g' && !form.alternate && places && fraction[places - 1] == '0') places--;
    if (scientific) {
        int size = exponent < 0 ? -exponent : exponent, written = 0;
        for (; size || written < 2; size /= 10, written++) digits[count++] = (char)('0' + size % 10);
        digits[count++] = exponent < 0 ? '-' : '+';
        digits[count++] = (char)(kind & 32 ? 'e' : 'E');
    }
    for (int k = places; k--;) digits[count++] = fraction[k];
    if (places || form.alternate) digits[count++] = '.';
    while (zeros-- > 0 && count < 60) digits[count++] = '0';
    do digits[count++] = (char)('0' + whole % 10); while (whole /= 10);
    add_field(text, &form, head, digits, count);
}

static int read_number(const char **at, va_list *arguments) {
    int value = 0;
    if (**at == '*') {
        ++*at;
        return va_arg(*arguments, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at) value = value * 10 + **at - '0';
    return value;
}

int vx_vprintf(const char *format, va_list given) {
    struct text text = {0};
    va_list arguments;
    va_copy(arguments, given);
    for (const char *at = format; *at; at++) {
        if (*at != '%') {
            add(&text, *at);
            continue;
        }
        struct form form = {0, 0, 0, 0, 0, -1};
        for (at++;; at++) {
            if (*at == '-') form.left = 1;
            else if (*at == '+') form.sign = '+';
            else if (*at == ' ') form.sign = form.sign ? form.sign : ' ';
            else if (*at == '0') form.zero = 1;
            else if (*at == '#') form.alternate = 1;
            else break;
        }
        form.width = read_number(&at, &arguments);
        if (form.width < 0) form.left = 1, form.width = -form.width;
        if (*at == '.') at++, form.precision = read_number(&at, &arguments);
        if (form.left) form.zero = 0;
        int longs = 0;
        for (; *at == 'l' || *at == 'h' || *at == 'z' || *at == 'j' || *at == 't'; at++)
            longs += *at == 'l' ? 1 : *at == 'h' ? -1 : *at == 'j' ? 2 : 0;
        if (!*at) break;
        if (*at == 'd' || *at == 'i') {
            int64_t value = longs > 1 ? va_arg(arguments, int64_t) : va_arg(arguments, int);
            if (longs == -1) value = (short)value;
            if (longs == -2) value = (signed char)value;
            add_whole(&text, form, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, 10, 0);
        } else if (*at == 'u' || *at == 'x' || *at == 'X' || *at == 'o') {
            uint64_t value = longs > 1 ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned);
            if (longs == -1) value = (unsigned short)value;
            if (longs == -2) value = (unsigned char)value;
            form.sign = 0;
            add_whole(&text, form, value, 0, *at == 'u' ? 10 : *at == 'o' ? 8 : 16, *at == 'X');
        } else if (*at == 'p') {
            form.alternate = 1;
            add_whole(&text, form, (uint32_t)va_arg(arguments, void *), 0, 16, 0);
        } else if (*at == 'c') {
            char c = (char)va_arg(arguments, int);
            form.zero = 0;
            add_field(&text, &form, "", &c, 1);
        } else if (*at == 's') {
            const char *from = va_arg(arguments, const char *);
            int size = 0;
            while ((form.precision < 0 || size < form.precision) && from[size]) size++;
            if (!form.left) for (int k = size; k < form.width; k++) add(&text, ' ');
            for (int k = 0; k < size; k++) add(&text, from[k]);
            if (form.left) for (int k = size; k < form.width; k++) add(&text, ' ');
        } else if (*at == 'f' || *at == 'F' || *at == 'e' || *at == 'E' || *at == 'g' || *at == 'G') {
            add_real(&text, form, va_arg(arguments, double), *at);
        } else {
            add(&text, *at);
        }
    }
    va_end(arguments);
    print(&text);
    return (int)text.used;
}

int vx_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vx_vprintf(format, arguments);
    va_end(arguments);
    return count;
}

void vx_putchar(int character) {
    vx_printf("%c", character);
}

void vx_putint(int value, int base) {
    if (base == 10) vx_printf("%d", value);
    else if (base == 8) vx_printf("%o", (unsigned)value);
    else vx_printf("%x", (unsigned)value);
}

void vx_putfloat(float value, int precision) {
    vx_printf("%.*f", precision, (double)value);
}
