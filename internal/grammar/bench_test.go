package grammar

import (
	"fmt"
	mathbits "math/bits"
	"math/rand/v2"
	"testing"
)

// bigVocabulary is one of 128,256 tokens with the lengths of Llama 3's: words
// with and without a space before them, digits, punctuation with quotes, spaces,
// and pieces of characters of other scripts.
func bigVocabulary() *Vocabulary {
	const size = 128256
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	list := oneByte()
	add := func(s string) {
		if s != "" && !seen[s] && len(list) < size-256 {
			seen[s] = true
			list = append(list, []byte(s))
		}
	}
	for _, p := range []string{`"`, `",`, `":`, `": "`, `","`, `"}`, `"]`, `{"`, `["`, `, "`, ` "`, `}}`, `]]`, `\n`, `\"`, `\\`, "  ", "    ", "\n\n"} {
		add(p)
	}
	for i := range 1000 {
		add(fmt.Sprint(i))
	}
	parts := []string{"a", "e", "i", "o", "u", "er", "in", "st", "th", "on", "re", "ing", "ed", "al", "ion", "m", "n", "t", "s", "l", "c", "pr", "ous", "qu", "é", "ж", "и", "中", "の"}
	for len(list) < size-256 {
		s := ""
		if r.IntN(5) < 3 {
			s = " "
		}
		for range 1 + r.IntN(5) {
			s += parts[r.IntN(len(parts))]
		}
		if r.IntN(20) == 0 {
			s += []string{`"`, `",`, `":`, "(", ");", "."}[r.IntN(6)]
		}
		add(s)
	}
	for len(list) < size {
		list = append(list, nil)
	}
	return NewVocabulary(list, []int32{size - 1}, false)
}

const benchSchema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"note":{"type":"string","maxLength":200},
"tags":{"type":"array","items":{"type":"string"}},"place":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}},
"required":["name","age","note","tags","place"]}`

// BenchmarkMask states the time of a token's mask and of following it, at a
// vocabulary of 128,256: cold is the first answer of a schema just compiled, warm
// one whose states exist.
func BenchmarkMask(b *testing.B) {
	v := bigVocabulary()
	g, err := FromSchema(nil, []byte(benchSchema))
	if err != nil {
		b.Fatal(err)
	}
	answer := func(b *testing.B, a *Automaton, seed uint64, spare int) int {
		r, m, n := rand.New(rand.NewPCG(seed, 2)), a.Start(), 0
		for left := 400; !m.Done() && left > 0; left-- {
			bits, err := m.Allowed(left + spare)
			if err != nil {
				b.Fatal(err)
			}
			id := anyBit(r, bits)
			if q := int32('"'); r.IntN(8) == 0 && bits[0]>>q&1 == 1 {
				id = q // strings end sometime
			}
			if err := m.Accept(id); err != nil {
				b.Fatal(err)
			}
			n++
		}
		return n
	}
	b.Run("compile/128k", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.Compile(nil, g); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cold/128k", func(b *testing.B) {
		n := 0
		for i := uint64(0); b.Loop(); i++ {
			b.StopTimer()
			a, err := v.Compile(nil, g)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			n += answer(b, a, i, 1000)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/token")
	})
	for name, spare := range map[string]int{"warm/128k": 1000, "warm-to-the-end/128k": 0} {
		b.Run(name, func(b *testing.B) {
			a, err := v.Compile(nil, g)
			if err != nil {
				b.Fatal(err)
			}
			answer(b, a, 1, spare)
			n := 0
			for b.Loop() {
				n += answer(b, a, 1, spare)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/token")
		})
	}
}

// anyBit returns a random set bit.
func anyBit(r *rand.Rand, bits []uint64) int32 {
	at := r.IntN(len(bits))
	for k := range bits {
		i := (at + k) % len(bits)
		if w := bits[i]; w != 0 {
			for range r.IntN(mathbits.OnesCount64(w)) {
				w &= w - 1
			}
			return int32(i*64 + mathbits.TrailingZeros64(w))
		}
	}
	return 0
}
