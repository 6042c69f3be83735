package grammar

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"atenia/internal/golden/await"
)

// randomSchema returns a schema of a few keywords over small values.
func randomSchema(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(8) == 0 {
		return []string{"true", "false", `{"type":"integer"}`, `{"const":1}`, `{"type":"string"}`, `{"enum":["a",2,null]}`, `{"minimum":1}`, `{"pattern":"^a"}`}[r.IntN(8)]
	}
	sub := func() string { return randomSchema(r, depth-1) }
	name := func() string { return []string{"a", "b", "ab"}[r.IntN(3)] }
	n := func() int { return r.IntN(3) }
	var list []string
	seen := map[string]bool{}
	for range 1 + r.IntN(4) {
		k, v := "", ""
		switch r.IntN(24) {
		case 0:
			k, v = "type", []string{`"object"`, `"array"`, `"string"`, `["integer","object"]`, `"number"`}[r.IntN(5)]
		case 1, 2:
			k, v = "properties", fmt.Sprintf(`{"a":%s,"b":%s}`, sub(), sub())
		case 3:
			k, v = "required", fmt.Sprintf(`[%q]`, name())
		case 4:
			k, v = "additionalProperties", sub()
		case 5:
			k, v = "patternProperties", fmt.Sprintf(`{"^a":%s,"b$":%s}`, sub(), sub())
		case 6:
			k, v = "propertyNames", fmt.Sprintf(`{"maxLength":%d}`, n())
		case 7:
			k, v = "minProperties", fmt.Sprint(n())
		case 8:
			k, v = "maxProperties", fmt.Sprint(n())
		case 9, 10:
			k, v = "not", sub()
		case 11, 12:
			k, v = "oneOf", fmt.Sprintf("[%s,%s]", sub(), sub())
		case 13:
			k, v = "anyOf", fmt.Sprintf("[%s,%s]", sub(), sub())
		case 14:
			k, v = "allOf", fmt.Sprintf("[%s,%s]", sub(), sub())
		case 15:
			k, v = "if", fmt.Sprintf(`%s,"then":%s,"else":%s`, sub(), sub(), sub())
		case 16:
			k, v = "dependentRequired", fmt.Sprintf(`{%q:[%q]}`, name(), name())
		case 17:
			k, v = "dependentSchemas", fmt.Sprintf(`{%q:%s}`, name(), sub())
		case 18:
			k, v = "items", sub()
		case 19:
			k, v = "contains", fmt.Sprintf(`%s,"minContains":%d,"maxContains":%d`, sub(), n(), 1+n())
		case 20:
			k, v = "enum", `[{"a":1},["a"],"ab",1.5,[]]`
		case 21:
			k, v = "multipleOf", []string{"2", "0.5", "3"}[n()]
		case 22:
			k, v = "prefixItems", fmt.Sprintf("[%s,%s]", sub(), sub())
		case 23:
			k, v = "maxLength", fmt.Sprint(n())
		}
		if !seen[k] {
			seen[k] = true
			list = append(list, fmt.Sprintf("%q:%s", k, v))
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

// draw returns a random answer, with short strings.
func draw(t *testing.T, a *Automaton, r *rand.Rand) (string, bool) {
	t.Helper()
	var text []byte
	m := a.Start()
	for left := int(a.begin.need) + 60; left > 0 && !m.Done(); left-- {
		bits, err := m.Allowed(left)
		if err != nil {
			return "", false
		}
		var ids []int32
		for _, c := range "\x00{}[]\",:ab1205.-tfn" {
			if bits[c>>6]>>(c&63)&1 == 1 {
				ids = append(ids, c)
			}
		}
		for id := int32(0); id < 256 && len(ids) == 0; id++ {
			if bits[id>>6]>>(id&63)&1 == 1 {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			t.Fatalf("no token is allowed behind %q", text)
		}
		id := ids[r.IntN(len(ids))]
		if err := m.Accept(id); err != nil {
			t.Fatal(err)
		}
		if id != 0 {
			text = append(text, byte(id))
		}
	}
	return string(text), m.Done()
}

// TestSound draws texts from the grammars of random schemas: each satisfies its schema by
// the plain meaning of the keywords, as readers take it: the last of two members counts.
func TestSound(t *testing.T) {
	seeds := uint64(400)
	if await.Long() {
		seeds = 20000
	}
	v := NewVocabulary(oneByte(), []int32{0}, false)
	compiled, drawn := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		schema := randomSchema(r, 3)
		g, err := FromSchema(nil, []byte(schema))
		if err != nil {
			continue
		}
		a, err := v.Compile(nil, g)
		if err != nil {
			continue
		}
		compiled++
		root, err := readJSON([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			text, done := draw(t, a, r)
			if !done {
				continue
			}
			var last any // of two members of one name
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			if err := d.Decode(&last); err != nil {
				t.Fatalf("seed %d: %s: %q: %v", seed, schema, text, err)
			}
			b, err := json.Marshal(last)
			if err != nil {
				t.Fatal(err)
			}
			x, err := readJSON(b)
			if err != nil {
				continue // more digits than are read
			}
			drawn++
			if ok, err := newCompiler(nil, root).valid(x, root, 1); !ok || err != nil {
				t.Fatalf("seed %d: %s admits %s: %v", seed, schema, text, err)
			}
		}
	}
	if compiled < int(seeds/4) || drawn < int(seeds) {
		t.Errorf("%d of %d schemas compiled, %d texts drawn", compiled, seeds, drawn)
	}
}
