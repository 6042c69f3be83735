package compile

import (
	"reflect"
	"testing"
)

func TestSort(t *testing.T) {
	got := sortWindows([]int{8, 0, 8, 4, 0})
	want := windowGroups{Windows: []int{0, 8, 4}, Layers: []int{2, 2, 1}, Of: []int{1, 0, 1, 2, 0}, Ordinal: []int{0, 0, 1, 0, 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
