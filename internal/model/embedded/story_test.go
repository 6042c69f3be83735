package embedded

import (
	"bytes"
	"testing"
	"unsafe"

	"atenia/internal/model/file"
)

func isAligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%align == 0 }

// TestStory reads the header: the file is complete and small, and every tensor
// is aligned.
func TestStory(t *testing.T) {
	const most = 8 << 20
	b := Story()
	if len(b) > most {
		t.Errorf("%d bytes, at most %d", len(b), most)
	}
	if !bytes.Equal(b, storyFile) || &b[0] != &Story()[0] {
		t.Error("the bytes are others, or copied each time")
	}
	d, err := file.OpenBytes("story.gguf", b)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if arch, _, _ := d.Meta.String("general.architecture"); arch != "llama" || len(d.Tensors) == 0 {
		t.Errorf("architecture %q, %d tensors", arch, len(d.Tensors))
	}
	for _, x := range d.Tensors {
		if !isAligned(x.View.Data) {
			t.Errorf("%s is not aligned", x.Name)
		}
	}
	if &b[0] != &storyFile[0] {
		t.Log("this linker does not align embedded files: the model is copied once")
	}
}

func TestAligned(t *testing.T) {
	room := make([]byte, 3*align)
	for i := range align {
		in := room[i : i+align]
		for k := range in {
			in[k] = byte(k)
		}
		if out := aligned(in); !isAligned(out) || !bytes.Equal(out, in) || isAligned(in) && &out[0] != &in[0] {
			t.Errorf("offset %d", i)
		}
	}
}
