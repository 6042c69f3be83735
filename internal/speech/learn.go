package speech

import (
	"fmt"
	"slices"
)

// Encode returns the rows that the encoder makes of a sound of one window at most,
// [rows, width]. It needs no [Config.From].
func (e *Ear) Encode(samples []float32, rate int) ([]float32, error) {
	x, err := resample(samples, rate)
	if err != nil {
		return nil, err
	}
	features, err := features(x, e.model.Mels, e.model.Frames)
	if err != nil {
		return nil, err
	}
	n := len(features)/e.model.Mels - e.model.Frames
	if n > e.model.Frames {
		return nil, fmt.Errorf("a sound of %.1f seconds, the model hears %.1f at a time: cut it", float64(n)*frameTime, float64(e.model.Frames)*frameTime)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.loadTower(); err != nil {
		return nil, err
	}
	rows, err := e.tower.EncodeSound(e.model.window(features, 0, n))
	return slices.Clone(rows), err
}

// Line returns the tokens of what is said in a sound as training teaches them: start,
// language and task where the model knows any, no timestamps, the text, end. All but
// the first are to be learned. The language is a code; "" = English.
func (e *Ear) Line(text, language string, translate bool) ([]int32, error) {
	t := &e.model.Tokens
	if language == "" {
		language = "en"
	}
	ids := []int32{t.Start}
	if len(t.Languages) > 0 {
		id, ok := t.Languages[language]
		if !ok {
			return nil, fmt.Errorf("this model has no language %q", language)
		}
		task := t.Transcribe
		if translate {
			task = t.Translate
		}
		ids = append(ids, id, task)
	} else if language != "en" || translate {
		return nil, fmt.Errorf("this model knows English alone")
	}
	ids = append(append(ids, t.NoTimes), e.c.Tokenizer.Encode(text, false)...)
	ids = append(ids, t.End)
	if n := len(ids) - 1; n > e.model.Context {
		return nil, fmt.Errorf("the text takes %d tokens, the model has %d positions: cut the sound", n, e.model.Context)
	}
	return ids, nil
}
