package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// endFormat is the version of the format of logs: of records, and of the line
// that ends them.
const endFormat = "atenia.decisions/1"

// endStart is how the line begins that ends a log. No record begins so.
const endStart = `{"end":`

// An end is the last line of a log whose writer closed it. A log without it was
// cut: its writer was killed, or still runs.
type end struct {
	Format  string `json:"end"`
	Records uint64 `json:"records"`
	Hash    string `json:"hash"` // of the last record, and so of all; "" without records
}

// EndAfter returns the end of a log whose last record is r; nil if it has none.
func EndAfter(r *Record) end {
	e := end{Format: endFormat}
	if r != nil {
		e.Records, e.Hash = r.Seq+1, r.Hash
	}
	return e
}

// AppendLine appends the end as a line, without a line feed.
func (e end) AppendLine(line []byte) []byte {
	return fmt.Appendf(line, `{"end":%q,"records":%d,"hash":%q}`, e.Format, e.Records, e.Hash)
}

// isEnd reports whether a line means to be the end of a log.
func isEnd(line []byte) bool { return bytes.HasPrefix(line, []byte(endStart)) }

// parseEnd reads the end of a log whose last record is r, and nothing but what
// [end.AppendLine] writes.
func parseEnd(line []byte, r *Record) error {
	var e end
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(&e); err != nil {
		return err
	}
	want := EndAfter(r)
	switch _, err := d.Token(); {
	case !errors.Is(err, io.EOF):
		return errors.New("more than one value")
	case e.Format != endFormat:
		return fmt.Errorf("its format is %q, this program reads %q", e.Format, endFormat)
	case e.Records != want.Records:
		return fmt.Errorf("it counts %d, there are %d", e.Records, want.Records)
	case e.Hash != want.Hash:
		return fmt.Errorf("its hash is %q, that of the last record %q", e.Hash, want.Hash)
	case !bytes.Equal(line, want.AppendLine(nil)):
		return errors.New("it is not as it was written")
	}
	return nil
}
