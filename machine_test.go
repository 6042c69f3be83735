package atenia_test

import (
	"errors"
	"testing"

	"atenia"
)

func TestHardware(t *testing.T) {
	m, err := atenia.Hardware(t.Context(), "", "")
	if err != nil || len(m.ID) != 12 || m.Cores < 1 || m.Threads < 1 || m.Arch == "" || m.Storage != nil {
		t.Errorf("%v, %+v", err, m)
	}
	m, err = atenia.Hardware(t.Context(), t.TempDir(), "none")
	if err != nil || m.Storage == nil || m.Storage.Kind == "" {
		t.Errorf("%v, %+v", err, m)
	}
	_, err = atenia.Hardware(t.Context(), "", "deep")
	if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
		t.Errorf("deep: %v", err)
	}
}
