import { useEffect, useRef } from 'react';
import { Jodit } from 'jodit';
import 'jodit/esm/plugins/all.js';
import 'jodit/es2021/jodit.min.css';
import { connectJodit } from 'stowage/jodit';
import 'stowage/jodit.css';

/** An editor connected to the connector at `url`. */
export function Editor({ url, value, onChange }) {
  const element = useRef(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    const editor = connectJodit(Jodit, element.current, { url });
    editor.value = value;
    editor.events.on('change', (html) => latest.current?.(html));
    return () => editor.destruct();
  }, [url]);
  return <textarea ref={element} />;
}
