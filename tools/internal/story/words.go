package story

// This file holds the words of the story world. Every name has one pronoun, so
// that a name determines the pronoun.

// A pronoun is the three forms of a third person.
type pronoun struct{ he, him, his string }

var (
	feminine  = pronoun{"she", "her", "her"}
	masculine = pronoun{"he", "him", "his"}
)

var (
	girls = []string{"Mia", "Lily", "Rosa", "Nina", "Ella", "Ruby", "Luna", "Clara", "Hazel", "Daisy"}
	boys  = []string{"Tom", "Max", "Leo", "Finn", "Otto", "Sam", "Ben", "Hugo", "Pip", "Theo"}
)

// A kind is a kind of hero: how it moves and where it sleeps.
type kind struct {
	noun, went, home string
	person           pronoun // set where the word itself says it
}

var kinds = []kind{
	{noun: "fox", went: "trotted", home: "den"},
	{noun: "rabbit", went: "hopped", home: "burrow"},
	{noun: "mouse", went: "scurried", home: "nest"},
	{noun: "bear", went: "walked", home: "cave"},
	{noun: "owl", went: "flew", home: "tree"},
	{noun: "squirrel", went: "skipped", home: "nest"},
	{noun: "hedgehog", went: "walked", home: "burrow"},
	{noun: "badger", went: "trotted", home: "burrow"},
	{noun: "otter", went: "skipped", home: "den"},
	{noun: "frog", went: "hopped", home: "pond"},
	{noun: "duck", went: "waddled", home: "nest"},
	{noun: "cat", went: "crept", home: "basket"},
	{noun: "dog", went: "ran", home: "basket"},
	{noun: "goat", went: "skipped", home: "barn"},
	{noun: "pony", went: "trotted", home: "barn"},
	{noun: "lion", went: "walked", home: "cave"},
	{noun: "turtle", went: "crept", home: "pond"},
	{noun: "penguin", went: "waddled", home: "nest"},
	{noun: "dragon", went: "flew", home: "cave"},
	{noun: "robot", went: "rolled", home: "workshop"},
	{noun: "girl", went: "ran", home: "house", person: feminine},
	{noun: "boy", went: "ran", home: "house", person: masculine},
}

// A trait comes with sentences that show it.
type trait struct {
	word  string
	shown []string
}

var traits = []trait{
	{"brave", []string{"$He was not afraid of the wind or the thunder.", "$He was the first to climb every hill."}},
	{"curious", []string{"$He wanted to know what was behind every hill.", "$He asked a hundred questions a day."}},
	{"shy", []string{"$He spoke so softly that the wind was louder.", "$He often hid behind a curtain of leaves."}},
	{"kind", []string{"$He had a good word for everyone.", "$He shared $his supper with anyone who was hungry."}},
	{"clever", []string{"$He could solve any riddle.", "$He always had a new idea."}},
	{"gentle", []string{"$He never stepped on a flower.", "$He carried snails safely across the road."}},
	{"cheerful", []string{"$He sang from morning until night.", "$He even smiled when it rained."}},
	{"sleepy", []string{"$He loved long naps in the sun.", "$He yawned more than anyone else."}},
	{"patient", []string{"$He could watch the clouds for hours.", "$He never hurried."}},
	{"lively", []string{"$He could not sit still for a minute.", "$He danced even when there was no music."}},
	{"quiet", []string{"$He liked to listen to the rain.", "$He knew all the small sounds of the night."}},
	{"silly", []string{"$He wore a leaf as a hat and talked to the clouds.", "$He told jokes to the stones."}},
	{"honest", []string{"$He always told the truth.", "Everyone could trust $him."}},
	{"tiny", []string{"$He was smaller than anyone else $in.", "A daisy was as tall as $he was."}},
}

// A thing is the object of a story. All of them can be carried.
type thing struct {
	noun   string
	looks  []string // adjectives of its looks
	joy    string   // a pleasant property
	broke  string   // how it breaks
	mend   string   // how it is mended, after "together they"
	danger string   // a trouble that only it can end
	rescue string   // and how it does
}

var things = []thing{
	{"lantern", []string{"old", "golden", "little"}, "Its warm light danced on the leaves.",
		"the glass cracked", "put in a new glass",
		"Then a thick fog came, and the little birds could not find the way home.",
		"$Name held the lantern up high. The birds saw the light and followed it, one after another, all the way home."},
	{"kite", []string{"red", "blue", "yellow"}, "It danced in the sky like a bird.",
		"the paper tore", "glued on new paper",
		"Then the bridge broke, and nobody could bring the medicine to the other side of the river.",
		"$Name tied the medicine to the kite and let the wind carry it across. Soon everyone was well again."},
	{"drum", []string{"red", "little", "round"}, "Boom, boom, it said, and feet began to dance.",
		"the skin of it tore", "stretched a new skin over it",
		"Then a thick fog came, and the children could not find the path.",
		"$Name beat the drum. Boom, boom, boom! The children followed the sound and came home safely."},
	{"umbrella", []string{"green", "big", "yellow"}, "The rain drummed on it like tiny feet.",
		"one of its ribs snapped", "tied it with strong thread",
		"Then a heavy rain came, and the water ran into the nest of the baby birds.",
		"$Name climbed up and opened the umbrella over the nest. The baby birds stayed dry all night."},
	{"basket", []string{"round", "brown", "big"}, "It smelled of apples and dry grass.",
		"the handle came off", "wove a new handle",
		"Then the river rose, and three little kittens sat on a stone in the water and cried.",
		"$Name let the basket float on a rope. The kittens climbed in, and $he pulled them to the shore."},
	{"bell", []string{"silver", "little", "golden"}, "It rang as clear as water.",
		"the rope tore", "tied on a new rope",
		"Then smoke came out of the old mill while everyone was asleep.",
		"$Name rang the bell as loudly as $he could. Everyone woke up, and together they put out the fire."},
	{"hat", []string{"green", "funny", "tall"}, "It had a feather that nodded at every step.",
		"the brim tore", "sewed the brim again",
		"Then a nest fell out of a tree, with three eggs in it.",
		"$Name put the soft hat under the eggs and kept them warm. In the evening, three baby birds looked out of the hat."},
	{"scarf", []string{"long", "red", "striped"}, "It was as soft as a cloud.",
		"a hole came into it", "knitted the hole shut",
		"Then a lamb slid down into a deep ditch and could not get out.",
		"$Name let down the long scarf. The lamb held on to it, and $he pulled until it was safe."},
	{"key", []string{"rusty", "golden", "tiny"}, "It shone in the sun like a secret.",
		"it bent", "hammered it straight",
		"Then the door of the mill fell shut, and the miller was locked inside.",
		"$Name tried the key. It turned, the door opened, and the miller came out and laughed."},
	{"map", []string{"old", "folded", "colorful"}, "It showed every path and every stream.",
		"it tore in two", "glued it together",
		"Then two travelers lost their way in the rain.",
		"$Name opened the map and put a finger on the right path. The travelers were home before dark."},
	{"book", []string{"thick", "old", "blue"}, "It smelled of dust and adventures.",
		"a page came loose", "glued the page back in",
		"Then a storm kept everyone indoors, and the little ones began to cry.",
		"$Name opened the book and read aloud. The little ones forgot the storm and listened until it was over."},
	{"spoon", []string{"wooden", "big", "silver"}, "It was as smooth as a pebble.",
		"the handle broke", "carved a new handle",
		"Then a beetle fell into the soup and could not swim.",
		"$Name reached in with the spoon and lifted the beetle out. The beetle shook itself and bowed."},
	{"shell", []string{"pink", "white", "smooth"}, "If you held it to your ear, you could hear the sea.",
		"a small piece broke off", "glued the piece on",
		"Then a baby seagull could not sleep, because it missed the sound of the waves.",
		"$Name held the shell to its ear. The baby seagull heard the sea and closed its eyes."},
	{"feather", []string{"white", "blue", "long"}, "It was so light that a breath could lift it.",
		"it bent", "smoothed it straight",
		"Then a giant came, and the giant was so angry that the ground shook.",
		"$Name tickled the giant's foot with the feather. The giant laughed and laughed, and was not angry any more."},
	{"flute", []string{"wooden", "silver", "thin"}, "Its song was as sweet as honey.",
		"it cracked", "closed the crack with wax",
		"Then the sheep ran away in a storm and did not know where to go.",
		"$Name played the flute. The sheep heard the song and came back, one by one."},
	{"blanket", []string{"blue", "soft", "woolen"}, "It was as warm as the sun.",
		"a corner tore", "sewed the corner again",
		"Then the first snow fell, and a baby bird sat shivering on the ground.",
		"$Name wrapped it in the blanket. Soon the baby bird was warm and began to sing."},
	{"bucket", []string{"red", "old", "wooden"}, "It could hold the whole moon when it was full of water.",
		"the bottom came loose", "nailed the bottom on again",
		"Then it did not rain for a long time, and all the flowers hung their heads.",
		"$Name filled the bucket at the well, again and again. The flowers drank and lifted their heads."},
	{"mirror", []string{"round", "small", "silver"}, "It caught the sun and threw it on the wall.",
		"the frame broke", "made a new frame",
		"Then a ship came too close to the rocks, and nobody on it saw the danger.",
		"$Name held the mirror into the sun and made it flash. The captain saw the flash and turned the ship in time."},
	{"whistle", []string{"tin", "loud", "shiny"}, "It sounded like a merry little train.",
		"it got a dent", "pushed the dent out",
		"Then a log rolled down the hill toward the children at play.",
		"$Name blew the whistle. The children looked up and jumped aside, and the log rolled past."},
	{"balloon", []string{"red", "big", "green"}, "It floated as lightly as a dream.",
		"the string tore", "tied on a new string",
		"Then a baby bird fell on a high roof, and nobody could reach it.",
		"$Name let the balloon float up on its string. The baby bird held on to it and came down safely."},
	{"rope", []string{"long", "strong", "thick"}, "It was good for swings and for a hundred games.",
		"it snapped", "tied a good knot",
		"Then a boat with two sailors drifted away from the shore.",
		"$Name threw the rope as far as $he could. The sailors caught it, and $he pulled them back to land."},
	{"wagon", []string{"red", "little", "blue"}, "Its wheels sang as they turned.",
		"a wheel came off", "put the wheel back on",
		"Then the baker hurt a foot and could not bring the bread to the village.",
		"$Name put all the bread into the wagon and pulled it from door to door. Nobody went hungry that day."},
}

// A place is where a story happens.
type place struct{ noun, at, sound string }

var places = []place{
	{"forest", "in", "The trees whispered all day long."},
	{"sea", "by", "The waves sang all day long."},
	{"river", "by", "The water hummed over the stones."},
	{"hill", "on", "The wind played in the grass."},
	{"lake", "by", "The water was as still as glass."},
	{"meadow", "in", "The bees hummed in the clover."},
	{"village", "in", "The church clock struck every hour."},
	{"mountain", "on", "The air smelled of snow and pine."},
	{"farm", "on", "The rooster woke everyone in the morning."},
	{"garden", "in", "Roses grew along the wall."},
	{"castle", "near", "Flags waved on the high towers."},
	{"island", "on", "Seagulls called in the wind."},
	{"valley", "in", "A little stream ran through the grass."},
	{"harbor", "at", "The boats rocked in the wind."},
}

// helpers may be met by a hero. They are called by their kind alone.
var (
	helpers      = []string{"owl", "mole", "crow", "turtle", "badger", "goose", "beaver", "hedgehog", "squirrel", "donkey", "rabbit", "mouse", "frog", "goat"}
	helperTraits = []string{"old", "wise", "friendly", "little", "gray", "young"}
)

// spots are hiding places of things.
var spots = []string{
	"under a big leaf", "behind a round stone", "in a hollow tree", "beside the old fence", "in the tall grass",
	"under the bridge", "behind the well", "between two roots", "under a bush", "on top of a wall",
}

// days begin what happens.
var days = []string{
	"One morning", "One day", "One sunny day", "One windy day", "One evening", "One rainy day", "One cold morning", "One fine day",
}
