// OpenAI's JavaScript client against a running server:
// node openai_client.mjs http://127.0.0.1:8080/v1 KEY
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const messages = [{ role: "user", content: "Tell me about a dog." }];
const usual = { model: "default", messages, max_tokens: 16, temperature: 0 };

const whole = await client.chat.completions.create(usual);
assert.equal(whole.choices[0].message.role, "assistant");
assert.equal(whole.usage.completion_tokens, 16);

let text = "", usage;
for await (const c of await client.chat.completions.create({ ...usual, stream: true, stream_options: { include_usage: true } })) {
  text += c.choices[0]?.delta?.content ?? "";
  usage = c.usage ?? usage;
}
assert.equal(text, whole.choices[0].message.content);
assert.equal(usage.completion_tokens, 16);

const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
const called = await client.chat.completions.create({ ...usual, tools });
assert.ok(called.choices[0].finish_reason);

const response = await client.responses.create({ model: "default", input: "Tell me about a dog.", max_output_tokens: 16, temperature: 0 });
let said = "";
for await (const e of await client.responses.create({ model: "default", input: "Tell me about a dog.", max_output_tokens: 16, temperature: 0, stream: true }))
  if (e.type === "response.output_text.delta") said += e.delta;
assert.equal(said, response.output_text);

// A schema, by hand and by zod, whole and streamed, several answers at once.
const Dog = z.object({ size: z.enum(["small", "large"]), old: z.boolean() });
const shaped = { model: "default", messages, max_tokens: 200, temperature: 1.5, seed: 5, response_format: zodResponseFormat(Dog, "dog") };
const parsed = await client.chat.completions.parse(shaped);
assert.equal(typeof parsed.choices[0].message.parsed.old, "boolean");
assert.equal(parsed.choices[0].finish_reason, "stop");
const several = await client.chat.completions.create({ ...shaped, n: 3 });
const texts = ["", "", ""];
for await (const c of await client.chat.completions.create({ ...shaped, n: 3, stream: true }))
  for (const choice of c.choices) texts[choice.index] += choice.delta.content ?? "";
assert.deepEqual(texts, several.choices.map((c) => c.message.content));
texts.forEach((t) => Dog.strict().parse(JSON.parse(t)));
const final = await client.chat.completions.stream(shaped).finalChatCompletion();
assert.deepEqual(final.choices[0].message.parsed, parsed.choices[0].message.parsed);

// A call that is demanded, whole and streamed.
const must = { model: "default", messages, tools, tool_choice: "required", max_tokens: 200, temperature: 1, seed: 4 };
const demanded = await client.chat.completions.create(must);
assert.equal(demanded.choices[0].finish_reason, "tool_calls");
let args = "";
for await (const c of await client.chat.completions.create({ ...must, stream: true })) args += c.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? "";
assert.equal(args, demanded.choices[0].message.tool_calls[0].function.arguments);
JSON.parse(args);

const probs = await client.chat.completions.create({ ...usual, logprobs: true, top_logprobs: 3, n: 2, seed: 1, max_tokens: 4 });
assert.equal(probs.choices.length, 2);
assert.equal(probs.choices[1].logprobs.content[0].top_logprobs.length, 3);

const vectors = await client.embeddings.create({ model: "default", input: ["a dog", "a cat"] });
assert.equal(vectors.data.length, 2);
assert.ok(vectors.data[0].embedding.every(Number.isFinite));
// The client asks for base64 unless it is told otherwise, and decodes it.
const floats = await client.embeddings.create({ model: "default", input: ["a dog", "a cat"], encoding_format: "float" });
assert.ok(floats.data[1].embedding.every((v, i) => Math.abs(v - vectors.data[1].embedding[i]) < 1e-6));

await assert.rejects(client.chat.completions.create({ ...usual, model: "none-such" }), OpenAI.NotFoundError);
await assert.rejects(client.chat.completions.create({ ...usual, temperature: -1 }), (e) => e instanceof OpenAI.BadRequestError && e.param === "temperature");
await assert.rejects(client.chat.completions.create({ ...usual, messages: [{ role: "user", content: "a".repeat(33 << 20) }] }), (e) => e.status === 413);
await assert.rejects(new OpenAI({ baseURL, apiKey: "wrong-key", maxRetries: 0 }).models.list().then((l) => l.data), OpenAI.AuthenticationError);
console.log("ok openai.mjs");
