package sight

import (
	"encoding/json"

	"atenia/internal/model/compile"
)

// The files with the settings of image and video processors, and the keys that hold
// them in a GGUF file.
const (
	preprocessor      = "preprocessor_config.json"
	videoPreprocessor = "video_preprocessor_config.json"
	processor         = "processor_config.json"
	preprocessorKey   = "atenia.preprocessor"
	videoKey          = "atenia.video_preprocessor"
)

// recipeOf returns the settings of the model's class of processors.
func recipeOf(v *compile.Vision) Recipe {
	i := &v.Images
	return Recipe{
		Kind: Kind(i.Sizes), Patch: v.Patch, Temporal: v.Temporal, Merge: v.Merge, MinPixels: i.MinPixels, MaxPixels: i.MaxPixels,
		Width: v.Side, Height: v.Side, Mean: i.Mean, Std: i.Std, Rescale: 1. / 255, Filter: Filter(i.Filter),
		MinTokens: 64, MaxTokens: 256, MinTiles: 2, MaxTiles: 10, Tile: 512, Tolerance: 2, Thumbnail: true,
		Scan: Scan{Least: 256, Most: 4, Ratio: 1.2},
	}
}

// filmOf returns the settings of the model's class of video processors.
func filmOf(v *compile.Vision) Film {
	f := Film{Recipe: recipeOf(v), Whole: v.Videos.Whole, Sample: v.Videos.Sampled, FPS: 2, MinFrames: 4, MaxFrames: 768, CapTokens: 128_000}
	f.MinPixels, f.MaxPixels = v.Videos.MinPixels, v.Videos.MaxPixels
	if f.Whole {
		f.CapTokens = 768
	}
	return f
}

// readRecipe and readFilm read the settings that come with the model, in the order of
// transformers: within the settings of all processors, then in a file of their own.
func (e *Eye) readRecipe() error {
	return e.read(e.recipe.Read, []string{preprocessorKey}, "image_processor", []string{preprocessor, processor})
}

func (e *Eye) readFilm() error {
	return e.read(e.film.Read, []string{videoKey, preprocessorKey}, "video_processor", []string{videoPreprocessor, preprocessor})
}

func (e *Eye) read(read func([]byte) error, keys []string, inner string, names []string) error {
	for _, key := range keys {
		if text, ok, err := e.c.Files.Meta.String(key); err != nil {
			return err
		} else if ok {
			return read([]byte(text))
		}
	}
	var all map[string]json.RawMessage
	if b := e.c.Files.Files[processor]; json.Unmarshal(b, &all) == nil && len(all[inner]) > 0 && string(all[inner]) != "null" {
		return read(b)
	}
	for _, name := range names {
		if b := e.c.Files.Files[name]; b != nil {
			return read(b)
		}
	}
	return nil
}
