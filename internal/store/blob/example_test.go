package blob_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"atenia/internal/store/blob"
)

func Example() {
	dir, err := os.MkdirTemp("", "blob")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	store := blob.NewStore(dir, nil)
	weights := make([]byte, 300)
	path, meta, err := store.Write("layer.0", weights, blob.RLE)
	if err != nil {
		panic(err)
	}
	st, _ := os.Stat(path)
	fmt.Println(filepath.Base(path), st.Size(), "bytes for", meta.OriginalBytes)

	cache, err := blob.OpenCache(filepath.Join(dir, "cache"), blob.Config{})
	if err != nil {
		panic(err)
	}
	// The file gets a second name: no bytes are written twice.
	if err := cache.Adopt(blob.Tensor, "tensor:layer.0", path, meta, weights, blob.Options{Version: 1}); err != nil {
		panic(err)
	}
	back, err := cache.Get(blob.Tensor, "tensor:layer.0")
	fmt.Println(len(back), err)
	_, err = cache.Get(blob.Tensor, "tensor:layer.1")
	fmt.Println(errors.Is(err, blob.ErrNotFound))
	// Output:
	// tensor_layer_0-xe6b2e9cbb2131ece.bin 4 bytes for 300
	// 300 <nil>
	// true
}
