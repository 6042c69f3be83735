package chat

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// operations returns every filter, method and test there is, with arguments of several
// kinds.
func operations() (ops []string) {
	with := func(form string, names []string, args ...string) {
		for _, n := range names {
			for _, a := range args {
				ops = append(ops, fmt.Sprintf(form, n, a))
			}
		}
	}
	with(" | %s%s", slices.Sorted(maps.Keys(Filters)), "", "('x')", "(1)", "(100000)", "('x', 'y')", "(attribute='a')")
	methods := map[string]bool{}
	for _, of := range []map[string]*Func{StringMethods, bytesMethods, listMethods, tupleMethods, dictMethods, markupMethods} {
		for name := range of {
			methods[name] = true
		}
	}
	with(".%s%s", slices.Sorted(maps.Keys(methods)), "()", "('x')", "(1)", "('x', 'y')", "(v)")
	with(" is %s%s", slices.Sorted(maps.Keys(Tests)), "", "(1)", "(v)")
	return ops
}

// TestMatrix runs every operation on large values: none allocates more than four times
// what it may be charged for, which is 256 MiB with the usual limits. How long the
// slowest took is logged; with the usual limits it is a hundred times as long.
func TestMatrix(t *testing.T) {
	limits := Limits{Steps: 100_000, Bytes: 671_000, Output: 400_000} // a hundredth of the usual
	n := 300_000
	values := []string{
		"'x' * N", "'a ' * (N // 2)", "'ä' * (N // 2)", "'<' * N", "'\n' * N", "'a-' * (N // 2)", "('word. ' ~ 'x' * 60) * (N // 66)", "'9' * N",
		"(range(3000) | list) * 10", "['ab'] * 30000", "[[1]] * 30000", "[{'a': 1}] * 30000", "('x' * N).encode()", "('x<' * (N // 4)) | e", "10 ** 500", "range(99999)",
	}
	slowest, what := time.Duration(0), ""
	for _, v := range values {
		v = strings.ReplaceAll(v, "N", fmt.Sprint(n))
		for _, op := range operations() {
			text := "{% set v = " + v + " %}{% set r = v" + op + " %}{% if r %}{% endif %}{% set l = r | list %}{{ l | length }}"
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := render("matrix", text, &Context{Limits: limits})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if kindOf(err) == "untyped" {
				t.Errorf("%s%s: %v", v, op, err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; int64(n) > 4*limits.Bytes {
				t.Errorf("%s%s: %d bytes were allocated, the limit is %d", v, op, n, limits.Bytes)
			}
			if took > slowest {
				slowest, what = took, v+op
			}
		}
	}
	t.Logf("the slowest took %v: %s", slowest, what)
}
