// node validate.mjs WHERE-AJV-IS < {"schema": …, "right": [files], "wrong": [files]}
// In strict mode, where a keyword that is unknown or has no effect is an error. Prints what is not
// as it should be.
import fs from "node:fs";
import path from "node:path";
import {pathToFileURL} from "node:url";

const ajv = path.join(process.argv[2], "node_modules/ajv/dist/2020.js");
const {Ajv2020} = (await import(pathToFileURL(ajv))).default;
const {schema, right, wrong} = JSON.parse(fs.readFileSync(0));
const strict = {strict: true, strictTypes: true, strictTuples: true, strictRequired: true};
const validate = new Ajv2020({...strict, allowUnionTypes: true}).compile(schema);
for (const file of right) {
    if (!validate(file)) console.log(JSON.stringify({file, errors: validate.errors}));
}
for (const file of wrong) {
    if (validate(file)) console.log(JSON.stringify({file, errors: "none"}));
}
