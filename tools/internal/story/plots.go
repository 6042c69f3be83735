package story

// A plot is the part of a story between opening and closing. Its sentences are
// patterns; scene.go defines their variables.
type plot struct {
	name   string
	themes []string   // names of the theme in requests
	not    []string   // traits that would contradict it
	rows   [][]string // one row is chosen: $first, $second, $third
	titles []string
	beats  []beat
	away   bool   // the hero gives the thing away
	feels  string // how the hero feels at the end
	learnt string // the lesson of the story
	fate   string // what became of the thing
	told   string // all of it in one sentence
}

// A beat is one step of a plot, as alternatives. An empty beat begins a
// paragraph.
type beat []string

// plots lists all plots; one file holds those of one sort.
var plots = append(append(append([]plot(nil), deeds...), friendships...), homely...)

// openings introduce the hero. Each names kind, name and place.
var openings = []string{
	"Once upon a time, there was $aTrait $kind named $Name who lived $in.",
	"Once upon a time, there was $aTrait little $kind named $Name. $He lived $in.",
	"Once upon a time, $aTrait $kind named $Name lived $in.",
	"Once upon a time, $in, there lived $aTrait $kind. $His name was $Name.",
	"Once upon a time, $in, there was $aTrait little $kind named $Name.",
	"Once there was $aTrait $kind named $Name. $He lived in a small $home $in.",
	"$Name was $aTrait little $kind who lived $in.",
	"Long ago, $aTrait $kind named $Name lived $in.",
	"$In, in a small $home, lived $aTrait $kind. $His name was $Name.",
	"Far away, $in, there lived $aTrait little $kind named $Name.",
}

// ours follow the opening where the hero has the thing from the beginning.
var ours = []string{
	"$Name had $aLook $thing. $Joy",
	"What $he loved best was $his $thing. $Joy",
	"Everywhere $Name went, $he took $his $look $thing along. $Joy",
	"$His best treasure was $aLook $thing. $Joy",
	"On $his birthday, the $kind had been given $aLook $thing. $Joy",
}

// finds follow where the hero comes upon it.
var finds = []string{
	"$Day, $Name found $aLook $thing $spot. $Joy",
	"$Day, the little $kind $went to the $place and saw something $spot. It was $aLook $thing! $Joy",
	"$Day, something lay $spot. It was $aLook $thing. \"How lovely!\" said $Name. $Joy",
	"$Day, $Name $went along the path and found $aLook $thing $spot. $Joy",
	"$Day, the $kind stumbled over something $spot. \"Oh, $aThing!\" said $Name. $Joy",
}

// closings end a story in which the hero keeps the thing.
var closings = append([]string{
	"And from that day on, the $kind and the $thing were never far apart.",
	"That night, the $kind fell asleep with a smile, and the $thing lay beside $him.",
	"\"What a day!\" said $Name, and the $kind $went home with the $thing.",
	"And so the $trait $kind and the $look $thing came home at last.",
	"And if you go to the $place, you may still meet the little $kind with the $thing.",
}, partings...)

// partings end any story.
var partings = []string{
	"And everyone $in still tells the story of $Name the $kind and the $look $thing.",
	"$Name the $kind looked at the $thing once more and smiled.",
	"And that is the story of the $trait $kind and the $thing.",
	"\"What a day!\" said $Name the $kind. \"I will never forget that $thing.\"",
}

// jokes make a story funny.
var jokes = []string{
	"Then $Name sneezed so hard that $he fell backward into a puddle. Splash!",
	"By mistake, $he put the $thing on $his head and bowed to a cabbage.",
	"A snail laughed so much that it fell off its leaf.",
	"\"Moo!\" said $Name, and nobody knew why, not even $Name.",
	"Just then a pie fell from a window and landed on $his nose. It was cherry pie, so $he did not mind.",
	"$He tried to look very serious, but there was jam on $his ears.",
	"$He tripped over $his own feet, rolled down the path, and said, \"I meant to do that.\"",
	"A frog tried on the $thing and croaked, \"Does it suit me?\"",
}
