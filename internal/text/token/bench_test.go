package token

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// plainText repeats the reference strings that are prose, to about n bytes.
func plainText(b testing.TB, n int) string {
	var texts []string
	golden.JSON(b, filepath.Join(golden.Family(b, "tokenizers"), "texts.json"), &texts)
	var s strings.Builder
	for s.Len() < n {
		for _, t := range texts {
			if len(t) > 60 && strings.Count(t, " ") > len(t)/12 && isASCII(t) && !strings.Contains(t, "   ") {
				s.WriteString(t)
				s.WriteByte('\n')
			}
		}
		if s.Len() == 0 {
			b.Fatal("no prose in the reference strings")
		}
	}
	return s.String()
}

func BenchmarkEncode(b *testing.B) {
	dir, text := golden.Family(b, "tokenizers"), plainText(b, 1<<18)
	for _, kind := range goldenKinds(b, dir) {
		b.Run(kind, func(b *testing.B) {
			tok := goldenLoad(b, dir, kind)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Encode(text, true)
			}
		})
	}
}

// BenchmarkLongWord shows that a word costs n log n.
func BenchmarkLongWord(b *testing.B) {
	dir := golden.Family(b, "tokenizers")
	tok := goldenLoad(b, dir, goldenKinds(b, dir)[0])
	for _, n := range []int{1_000, 10_000, 100_000} {
		word := strings.Repeat("abcdefghij", n/10)
		b.Run(fmt.Sprintf("%dkB", n/1000), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				tok.Encode(word, false)
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	dir, text := golden.Family(b, "tokenizers"), plainText(b, 1<<14)
	for _, kind := range goldenKinds(b, dir) {
		b.Run(kind, func(b *testing.B) {
			tok := goldenLoad(b, dir, kind)
			ids := tok.Encode(text, true)
			b.ReportAllocs()
			for b.Loop() {
				s := tok.NewStream(true)
				for _, id := range ids {
					s.Next(id)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/token")
		})
	}
}
