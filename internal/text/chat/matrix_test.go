package chat

import (
	"fmt"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
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
	with(" | %s%s", slices.Sorted(maps.Keys(filters)), "", "('x')", "(1)", "(100000)", "('x', 'y')", "(attribute='a')")
	methods := map[string]bool{}
	for _, of := range []map[string]*functionType{stringMethods, bytesMethods, listMethods, tupleMethods, dictMethods, markupMethods} {
		for name := range of {
			methods[name] = true
		}
	}
	with(".%s%s", slices.Sorted(maps.Keys(methods)), "()", "('x')", "(1)", "('x', 'y')", "(v)")
	with(" is %s%s", slices.Sorted(maps.Keys(tests)), "", "(1)", "(v)")
	return ops
}

// TestMatrix runs every operation on large values: none allocates more than four times
// what it may be charged for, which is 256 MiB with the usual limits. How long the
// slowest took is logged; with the usual limits it takes as many times as long as those are larger.
func TestMatrix(t *testing.T) {
	part := int64(400) // of the usual limits
	if await.Long() {
		part = 100
	}
	limits := Limits{Steps: 10_000_000 / part, Bytes: 67_100_000 / part, Output: 40_000_000 / part}
	n := 30_000_000 / part
	values := []string{
		"'x' * N", "'a ' * (N // 2)", "'ä' * (N // 2)", "'<' * N", "'\n' * N", "'a-' * (N // 2)", "('word. ' ~ 'x' * 60) * (N // 66)", "'9' * N",
		"(range(N // 100) | list) * 10", "['ab'] * (N // 10)", "[[1]] * (N // 10)", "[{'a': 1}] * (N // 10)", "('x' * N).encode()", "('x<' * (N // 4)) | e", "10 ** 500", "range(N // 3 - 1)",
	}
	// The metrics count small objects by whole spans. ReadMemStats counts exactly, but
	// stops the world, twice for each of thousands of operations.
	const spans = 256 << 10
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	slowest, what := time.Duration(0), ""
	for _, v := range values {
		v = strings.ReplaceAll(v, "N", fmt.Sprint(n))
		for _, op := range operations() {
			text := "{% set v = " + v + " %}{% set r = v" + op + " %}{% if r %}{% endif %}{% set l = r | list %}{{ l | length }}"
			var n int64
			var took time.Duration
			for range 3 { // what others in the process allocate meanwhile, they do not each time
				metrics.Read(allocated)
				before := allocated[0].Value.Uint64()
				start := time.Now()
				_, err := render("matrix", text, &Context{Limits: limits})
				took = time.Since(start)
				metrics.Read(allocated)
				if kindOf(err) == "untyped" {
					t.Errorf("%s%s: %v", v, op, err)
				}
				if n = int64(allocated[0].Value.Uint64() - before); n <= 4*limits.Bytes+spans {
					break
				}
			}
			if n > 4*limits.Bytes+spans {
				t.Errorf("%s%s: %d bytes were allocated, the limit is %d", v, op, n, limits.Bytes)
			}
			if took > slowest {
				slowest, what = took, v+op
			}
		}
	}
	t.Logf("the slowest took %v: %s", slowest, what)
}
