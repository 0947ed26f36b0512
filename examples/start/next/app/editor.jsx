'use client';
import { useEffect, useRef } from 'react';
import 'jodit/es2021/jodit.min.css';
import 'stowage/jodit.css';

/** An editor connected to the connector at `url`. */
export function Editor({ url }) {
  const element = useRef(null);
  useEffect(() => {
    let editor;
    let isGone = false;
    // Jodit needs a browser, so it is not loaded on the server.
    const load = async () => {
      const [{ Jodit }, { connectJodit }] = await Promise.all([
        import('jodit'),
        import('stowage/jodit'),
        import('jodit/esm/plugins/all.js'),
      ]);
      if (!isGone) editor = connectJodit(Jodit, element.current, { url });
    };
    void load();
    return () => {
      isGone = true;
      editor?.destruct();
    };
  }, [url]);
  return <textarea ref={element} />;
}
