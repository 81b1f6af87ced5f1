//! Records as JSON: what is written can be read again.

use roomkit_core::ErrorKind;
use roomkit_store::{from_json, to_json};
use serde_json::{Value, json};

fn nested(levels: usize, inner: Value) -> Value {
    (0..levels).fold(inner, |inner, level| match level % 2 {
        0 => json!([inner]),
        _ => json!({ "in": inner }),
    })
}

#[test]
fn what_is_written_is_read_again_and_the_rest_refused() {
    // Brackets in a text are none, escaped or not.
    for text in ["", "[[{{", "\\", "\"[", "[\\\"", "\u{0}["] {
        let text = text.repeat(200);
        for levels in [0, 1, 126, 127, 128, 129, 500] {
            let value = nested(levels, json!(text));
            match to_json("value", "v", &value) {
                Ok(json) => {
                    assert!(levels <= 127, "{levels}");
                    assert_eq!(from_json::<Value>("value", "v", &json).unwrap(), value);
                }
                Err(error) => {
                    assert!(levels > 127, "{levels}");
                    assert_eq!(error.kind(), ErrorKind::InvalidInput);
                }
            }
        }
    }
    let wide = Value::from(vec![json!([{}]); 1_000]);
    assert!(to_json("value", "v", &wide).is_ok());
}
